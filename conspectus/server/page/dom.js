// Elements from texts. Whatever comes from documents, models or names goes in as text, never as markup.

/** An element with attributes and children. Attributes that begin with "on" are listeners; null ones are left out. */
export function make(tag, attributes = {}, ...inside) {
  return filled(document.createElement(tag), attributes, inside);
}

/** The same for a drawing. */
export function draw(tag, attributes = {}, ...inside) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, inside);
}

function filled(element, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== ""));
  return element;
}

/** A text of the documents: its direction is its own, and changes nothing beside it. */
export const spoken = (text, attributes = {}) => make("bdi", { dir: "auto", ...attributes }, shown(text));

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

const status = document.getElementById("said");
/** Tell who listens instead of looking. */
export function say(text) {
  status.textContent = text;
}

/** What stands while something is fetched. */
export const waiting = (what) => make("p", { class: "waiting" }, make("span", { class: "spinner", "aria-hidden": "true" }), what);

const LONGEST_WAIT = 120; // seconds; nobody sits before a countdown of hours

/** A failure in words, with a way to try again; where the server said when, it counts down. */
export function failed(failure, again = null) {
  const box = make("div", { class: "failure", role: "alert" }, make("p", {}, make("strong", {}, failure.title), " ", shown(failure.message)));
  if (failure.request) box.append(make("p", { class: "soft" }, `Number of the request: ${failure.request}`));
  if (again && failure.wait <= LONGEST_WAIT) {
    const button = make("button", { type: "button", onclick: again }, "Try again");
    let left = failure.wait;
    const tick = () => {
      button.disabled = left > 0;
      button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
      if (left-- > 0 && (box.isConnected || left === failure.wait - 1)) setTimeout(tick, 1000);
    };
    tick();
    box.append(button);
  }
  return box;
}

/** Show what a promise gives in a place: words while it is fetched, its failure with a way to try again. */
export async function fill(place, what, fetch, render) {
  place.replaceChildren(waiting(what));
  const turn = (place.turn = (place.turn ?? 0) + 1);
  const put = (...content) => place.turn === turn && place.replaceChildren(...content.flat().filter((each) => each !== null));
  try {
    const found = await fetch();
    if (place.turn === turn) put(render(found));
  } catch (failure) {
    if (failure.name === "AbortError") return;
    if (failure.title === undefined) throw failure;
    put(failed(failure, () => fill(place, what, fetch, render)));
  }
}
