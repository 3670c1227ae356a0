// Small pictures in the table: an interval, and how far a word moved from text to text.

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** An interval with its middle, on a scale from `least` to `most` that all words share. */
function intervalBar(value, low, high, [least, most]) {
  const width = 130, height = 22;
  const place = (number) => 5 + ((number - least) / (most - least || 1)) * (width - 10);
  const parts = [];
  if (least < 0) parts.push(drawn("path", { class: "zero", d: `M${place(0)} 2V20` }));
  if (low !== null) parts.push(drawn("path", { class: "range", d: `M${place(low)} 11H${place(high)}` }));
  parts.push(drawn("circle", { class: "dot0", cx: place(value), cy: 11, r: 4 }));
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...parts);
}

/** How far a word moved from the first text in each later one, and what 95 % of permuted texts stay below. */
function trajectory(moved, band, names, most, large) {
  const [width, height] = large ? [460, 190] : [110, 34];
  const [left, right, top, bottom] = large ? [44, 14, 22, 30] : [3, 4, 4, 4];
  const x = (i) => left + (moved.length > 1 ? i / (moved.length - 1) : 0.5) * (width - left - right);
  const y = (value) => height - bottom - (value / most) * (height - top - bottom);
  const path = (values) => "M" + values.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
  const known = (values) => values.length && values.every((value) => value !== null);
  const parts = [];
  if (large) {
    for (const value of [0, most / 2, most]) {
      parts.push(drawn("path", { class: "grid", d: `M${left} ${y(value)}H${width - right}` }));
      parts.push(drawn("text", { class: "end", x: left - 6, y: y(value) + 4 }, value.toFixed(2)));
    }
    names.slice(1).forEach((name, i) => {
      const anchor = moved.length > 1 && i === 0 ? "" : moved.length > 1 && i === moved.length - 1 ? "end" : "middle";
      const short = shown(name.split(/[\\/]/).at(-1), Math.max(4, Math.floor(50 / names.length)));
      parts.push(drawn("text", { class: anchor, x: x(i), y: height - 10 }, short));
    });
  }
  if (known(band)) parts.push(drawn("path", { class: "chance", d: path(band) }));
  if (known(moved)) parts.push(drawn("path", { class: "mark0", d: path(moved) }));
  moved.forEach((value, i) => {
    if (value === null) return;
    const tip = `${names[i + 1]}: ${value}`;
    parts.push(drawn("circle", { class: "dot0", cx: x(i), cy: y(value), r: large ? 4 : 2.5 }, drawn("title", {}, tip)));
  });
  const values = moved.map((value, i) => `${names[i + 1]} ${value}`).join(", ");
  const label = `Distance from ${names[0]}: ${values}`;
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
}
