// The search box: suggests words that begin with the input, and reports at once if there are none.

/** The last word of the input, if no word of the page begins with it. */
function strange(text, vocabulary) {
  const [last, part] = [/[-+−–\s]+|…|\.\.\./, /\s+|…|\.\.\./].map((between) => text.split(between).at(-1));
  return last && ![text, last, part].some((one) => vocabulary.begins(one)) ? last : "";
}

function listenToSearch(explorer, input, list) {
  const { vocabulary, words } = explorer;
  let active = -1;
  const offered = () => [...list.querySelectorAll("[data-row]")];
  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (row) => {
    close();
    explorer.go({ word: row });
  };
  const mark = (index) => {
    active = index;
    offered().forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    if (index >= 0) input.setAttribute("aria-activedescendant", `suggestion-${index}`);
  };
  /** Replace the input by the word that is shown. */
  const restore = () => {
    input.value = explorer.settled;
    input.select();
    if (explorer.state.kind === "unknown") location.hash = explorer.address;
  };
  input.addEventListener("input", () => {
    const text = input.value.trim();
    const rows = text && !/\s[-+−–…]|\.\.\./.test(text) ? vocabulary.suggest(text, 8) : [];
    const none = strange(text, vocabulary);
    const items = rows.map((row, i) => {
      const item = el("li", { role: "option", id: `suggestion-${i}`, "data-row": row, "aria-selected": "false" }, el("bdi", {}, shown(words[row], 40)));
      item.onpointerdown = (event) => {
        event.preventDefault(); // the field keeps the focus
        choose(row);
      };
      return item;
    });
    if (none) {
      const what = explorer.panels.said(rows.length ? "No such word; within others:" : "No such word");
      items.unshift(el("li", { role: "option", "aria-disabled": "true", class: "none" }, what));
      explorer.say(explorer.panels.said("no such word"));
    }
    list.replaceChildren(...items);
    list.hidden = !items.length;
    active = -1;
    input.setAttribute("aria-expanded", String(items.length > 0));
  });
  // the first click selects all of the input, so that typing replaces it; the second sets the caret
  let all = false;
  input.addEventListener("focus", () => input.select());
  input.addEventListener("pointerdown", () => {
    all = document.activeElement === input && input.selectionEnd - input.selectionStart === input.value.length;
  });
  input.addEventListener("click", () => {
    const { state, settled } = explorer;
    const asked = input.value === settled || input.value === state.query;
    if (asked && !all && input.selectionStart === input.selectionEnd) input.select();
  });
  input.addEventListener("keydown", (event) => {
    const n = list.hidden ? 0 : offered().length;
    if (event.key === "ArrowDown" && n) mark((active + 1) % n);
    else if (event.key === "ArrowUp" && n) mark((active + n - (active < 0 ? 0 : 1)) % n);
    else if (event.key === "Escape") {
      close();
      restore();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const item = active >= 0 ? offered()[active] : null;
    const text = input.value.trim();
    close();
    if (item) choose(Number(item.dataset.row));
    else if (text) explorer.go({ query: text });
  });
}
