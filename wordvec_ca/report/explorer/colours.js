// The colours of both themes, and gradients between them.

const THEMES = {
  light: {
    back: "#fbfbf9", ink: "#1c2126", soft: "#59636e", mark: "#b3400a", line: "#b3400a66",
    kinds: ["#cc6677", "#5548a8", "#117733", "#b8860b", "#2a7fb8", "#882255", "#3a9a8c", "#7a7a22", "#aa4499"],
    rest: "#b4bac1", between: "#b9bfc5", lightness: 0.6, ramp: ["#bcd3e8", "#4a86bd", "#08306b"], heat: ["#c9ced3", "#e08a4a", "#9c2f00"],
    poles: ["#0b5fa5", "#c6cad0", "#b3400a"], alpha: 0.65,
  },
  dark: {
    back: "#14171b", ink: "#eceff2", soft: "#a3adb8", mark: "#ffb070", line: "#ffb07066",
    kinds: ["#ee8899", "#9c92ee", "#5fbf77", "#e0b94a", "#6cc0f0", "#d977ab", "#6fd6c6", "#c6c65c", "#d68ad0"],
    rest: "#4a525b", between: "#59626c", lightness: 0.75, ramp: ["#24405e", "#4f8fc9", "#dcefff"], heat: ["#39424d", "#c9703a", "#ffd0a0"],
    poles: ["#66b6ff", "#4a525b", "#ff9a4d"], alpha: 0.7,
  },
};

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** A colour in the byte order of a canvas: alpha, blue, green, red. */
function packed([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A gradient of 256 colours. */
function ramp(stops) {
  const colours = stops.map(rgb);
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (colours.length - 1);
    const k = Math.min(Math.floor(at), colours.length - 2);
    return colours[k].map((from, c) => Math.round(from + (at - k) * (colours[k + 1][c] - from)));
  });
}

/** The colour of a point of the map: its hue is the direction from the middle, and the middle is grey (OKLCH). */
function colourOfPlace(x, y, lightness) {
  const chroma = 0.06 + 0.11 * Math.min(1, Math.hypot(x - 0.5, y - 0.5) / 0.35);
  const hue = Math.atan2(y - 0.5, x - 0.5);
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((value) => {
    const within = Math.max(0, Math.min(1, value));
    return Math.round(255 * (within <= 0.0031308 ? 12.92 * within : 1.055 * within ** (1 / 2.4) - 0.055));
  });
}
