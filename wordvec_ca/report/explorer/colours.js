// The colours of both themes, and those between.

const THEMES = {
  light: {
    back: "#fbfbf9", ink: "#1c2126", soft: "#59636e", mark: "#b3400a", line: "#b3400a66",
    kinds: ["#cc6677", "#5548a8", "#117733", "#b8860b", "#2a7fb8", "#882255", "#3a9a8c", "#7a7a22", "#aa4499"],
    rest: "#b4bac1", ramp: ["#bcd3e8", "#4a86bd", "#08306b"], heat: ["#c9ced3", "#e08a4a", "#9c2f00"],
    poles: ["#0b5fa5", "#c6cad0", "#b3400a"], alpha: 0.5,
  },
  dark: {
    back: "#14171b", ink: "#eceff2", soft: "#a3adb8", mark: "#ffb070", line: "#ffb07066",
    kinds: ["#ee8899", "#9c92ee", "#5fbf77", "#e0b94a", "#6cc0f0", "#d977ab", "#6fd6c6", "#c6c65c", "#d68ad0"],
    rest: "#4a525b", ramp: ["#24405e", "#4f8fc9", "#dcefff"], heat: ["#39424d", "#c9703a", "#ffd0a0"],
    poles: ["#66b6ff", "#4a525b", "#ff9a4d"], alpha: 0.6,
  },
};

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** A colour as the pixels of a canvas hold it: alpha, blue, green, red. */
function packed([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** 256 colours from one to the next. */
function ramp(stops) {
  const colours = stops.map(rgb);
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (colours.length - 1);
    const k = Math.min(Math.floor(at), colours.length - 2);
    return colours[k].map((from, c) => Math.round(from + (at - k) * (colours[k + 1][c] - from)));
  });
}
