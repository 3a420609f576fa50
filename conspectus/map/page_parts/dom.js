// Elements from texts. Whatever comes from documents, models or names goes in as text, never as markup.

/** An element with attributes and children. Attributes that begin with "on" are listeners; null ones are left out. */
export function make(tag, attributes = {}, ...inside) {
  return filled(document.createElement(tag), attributes, inside);
}

export function filled(element, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "colour") element.style.background = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== ""));
  return element;
}

/** A text of the documents: its direction is its own, and changes nothing beside it. */
export const spoken = (text, attributes = {}) => make("bdi", { dir: "auto", ...attributes }, shown(text));

export const dot = (colour) => make("span", { class: "dot", colour, "aria-hidden": "true" });

/** A list that shows its first items, and the others when asked. */
export function folded(items, most, item = (each) => each, attributes = {}) {
  const list = make("ul", attributes, items.slice(0, most).map(item));
  if (items.length <= most) return [list];
  const more = make("button", { type: "button", class: "more", onclick: () => {
    const others = items.slice(most).map(item);
    list.append(...others);
    others[0].querySelector("a, button")?.focus();
    more.remove();
  } }, `Show all ${number(items.length)}`);
  return [list, more];
}

/** A text with its control signs and the signs that turn its direction told instead of obeyed. */
export const shown = (text) =>
  String(text)
    .replace(/\f/g, "\n")
    .replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const number = (n) => Number(n).toLocaleString("en");
export const counted = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** A text of at most so many signs, cut at a space where there is one. */
export function cut(text, most) {
  const line = String(text).replace(/\s+/g, " ").trim();
  const signs = Array.from(line);
  if (signs.length <= most) return line;
  const kept = signs.slice(0, most - 1).join("");
  return `${kept.replace(/\s+\S{0,12}$/, "")}…`;
}

/** Let the arrows lead from a field through the list below it; Enter in the field takes the first. */
export function listKeys(field, list) {
  const of = (row) => row?.querySelector("a, button");
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") of(list)?.focus();
    else if (event.key === "Enter") of(list)?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!by) return;
    event.preventDefault();
    (of(document.activeElement.closest("li")?.[by]) ?? field).focus();
  });
}

/** Tell apart which of some elements is meant. */
export function setCurrent(elements, is) {
  for (const each of elements) {
    if (is(each)) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

const status = document.getElementById("said");
/** Tell who listens instead of looking. */
export function say(text) {
  status.textContent = text;
}
