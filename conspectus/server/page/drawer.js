// The drawer: a document, at the place that was cited, with the span marked; and why that passage was found.
import { addressOf, get, pathOf } from "./api.js";
import { changed, go, here } from "./address.js";
import { make, number, setCurrent, shown, spoken } from "./dom.js";
import { attempt, fill, waiting } from "./fetching.js";
import { whyFound } from "./why.js";

const AROUND = 2_500, MORE = 8_000;
/** Characters before and after a span at first, and of each further part. */

const drawer = document.getElementById("drawer"), body = document.getElementById("body");
const contexts = new Map(); // by address: what is known of a source besides its place
let returnTo = null, shownKey = "";

const keyOf = (index, doc, span) => `${index} ${doc} ${span ?? ""}`;

/** Open a source of an answer; `about` says of which question, and which other sources it has. */
export function openSource(source, about, from = null) {
  openDocument(source.document_id, [source.start, source.end], { source, about, from });
}

/** Open a document, at a span if one is given. */
export function openDocument(id, span = null, context = {}) {
  const at = span ? span.join("-") : "";
  contexts.set(keyOf(here.index, id, at), context);
  returnTo = context.from ?? document.activeElement;
  point(returnTo);
  go(changed({ doc: id, span: at }), { replace: here.parameters.has("doc") });
}

/** Tell apart what the drawer was opened from. */
const point = (element) => setCurrent(document.querySelectorAll(".mark, .source"), (each) => each === element);

export function closeDrawer() {
  if (!here.parameters.has("doc")) return;
  go(changed({ doc: null, span: null }));
  if (returnTo?.isConnected) returnTo.focus();
}

const narrow = matchMedia("(max-width: 900px)");
/** On a small screen the drawer covers the page: what is behind it cannot be reached then. */
function cover() {
  const covers = narrow.matches && !drawer.hidden;
  for (const id of ["top", "main"]) document.getElementById(id).inert = covers;
  drawer.setAttribute("role", covers ? "dialog" : "complementary");
  drawer.toggleAttribute("aria-modal", covers);
}
narrow.addEventListener("change", cover);

/** Show what the address says. */
export function showDrawer() {
  const doc = here.parameters.get("doc"), span = here.parameters.get("span") ?? "";
  const open = doc !== null;
  body.classList.toggle("open", open);
  drawer.hidden = !open;
  cover();
  const key = open ? keyOf(here.index, doc, span) : "";
  if (!open) {
    drawer.replaceChildren();
    point(null);
  }
  if (key === shownKey || !open) {
    shownKey = key;
    return;
  }
  shownKey = key;
  const [start, end] = /^\d+-\d+$/.test(span) ? span.split("-").map(Number) : [];
  render(doc, start === undefined || end <= start ? null : [start, end], contexts.get(key) ?? {});
}

function render(doc, span, { source, about }) {
  const title = make("h2", { tabindex: "-1", dir: "auto" }, shown(source?.title || doc));
  const place = make("p", { class: "place" }, shown(source?.place ?? ""));
  const close = make("button", { type: "button", class: "icon", "aria-label": "Close the source", title: "Close (Escape)", onclick: closeDrawer }, "×");
  const others = about?.citations ?? [], at = others.indexOf(source);
  const step = (by, name, sign) => make("button", { type: "button", class: "icon", "aria-label": name, disabled: !others[at + by], onclick: () => openSource(others[at + by], about, returnTo) }, sign);
  const kicker = make("p", { class: "kicker" }, source?.number ? `Source ${source.number}` : span ? "Passage" : "Document", others.length > 1 && at >= 0 ? make("span", { class: "steps-through" }, step(-1, "The source before", "‹"), step(1, "The next source", "›")) : null, make("span", { class: "grow" }), close);
  const text = make("div", { class: "document" }), why = make("div", { class: "why" });
  const folded = make("details", { id: "why", ontoggle: () => folded.open && !why.childElementCount && whyFound(why, source, about) }, make("summary", {}, "Why it was found"), why);
  drawer.replaceChildren(make("div", { class: "head" }, kicker, title, place), ...(about?.question && source ? [folded] : []), text);
  drawer.scrollTop = 0;
  title.focus({ preventScroll: true });
  readDocument(text, doc, span, about?.version, (row) => {
    title.textContent = shown(row.title || row.id);
    place.textContent = shown([row.place === `"${row.title}"` ? "" : row.place, row.uri !== row.title ? row.uri : ""].filter(Boolean).join(" · "));
  });
}

function readDocument(place, doc, span, version, about) {
  const index = here.index;
  const part = async (start, end) => {
    const path = (at) => addressOf(index, `documents/${pathOf(doc)}`, at);
    try {
      return await get(path(version), { start, end });
    } catch (failure) {
      if (failure.kind !== "unknown_version") throw failure;
      version = ""; // the index has changed since the answer: the present text is shown, and said to be
      place.before(make("p", { class: "doubts" }, "The index has changed since this answer was made. This is the present text, and the mark may be off."));
      return get(path(""), { start, end });
    }
  };
  const from = span ? Math.max(span[0] - AROUND, 0) : 0;
  return fill(place, "Opening the document …", () => part(from, span ? span[1] + AROUND : MORE), (row) => {
    about(row);
    const pieces = span ? [row.text.slice(0, cutAt(row.text, span[0] - row.start)), row.text.slice(cutAt(row.text, span[0] - row.start), cutAt(row.text, span[1] - row.start)), row.text.slice(cutAt(row.text, span[1] - row.start))] : [row.text, "", ""];
    const mark = pieces[1] ? make("mark", { tabindex: "-1", id: "cited" }, shown(pieces[1])) : "";
    const text = make("div", { class: "running", dir: "auto" }, shown(pieces[0]), mark, shown(pieces[2]));
    let start = row.start, end = row.end;
    const earlier = more("Show what comes before", start > 0, async () => {
      const found = await part(Math.max(start - MORE, 0), start);
      const height = drawer.scrollHeight;
      text.prepend(shown(found.text));
      drawer.scrollTop += drawer.scrollHeight - height; // what is read stays where it is
      return (start = found.start) > 0;
    });
    const later = more("Show what comes after", end < row.n_chars, async () => {
      const found = await part(end, end + MORE);
      text.append(shown(found.text));
      return (end = found.end) < row.n_chars;
    });
    const metadata = Object.entries(row.metadata);
    requestAnimationFrame(() => mark && mark.scrollIntoView({ block: "center" }));
    return [
      earlier, text, later,
      make("footer", {}, make("p", {}, `${number(row.n_chars)} characters${span ? `, of which ${number(span[0])} to ${number(span[1])} are marked` : ""} · version ${row.version}`), metadata.length ? make("dl", {}, ...metadata.map(([name, value]) => make("div", {}, make("dt", {}, spoken(name)), make("dd", {}, spoken(value))))) : null),
    ];
  });
}

/** Where a count of characters, which the server makes in code points, is in a text of UTF-16. */
function cutAt(text, characters) {
  if (!/[\ud800-\udbff]/.test(text)) return characters;
  let at = 0;
  for (let left = characters; left > 0 && at < text.length; left--) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

function more(title, wanted, fetch) {
  const box = make("div", { class: "more-text" });
  if (!wanted) return box;
  const open = () => {
    box.replaceChildren(waiting("Opening …"));
    return attempt(box, async () => box.replaceChildren(...((await fetch()) ? [button] : [])), open);
  };
  const button = make("button", { type: "button", onclick: open }, title);
  box.append(button);
  return box;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !drawer.hidden && !document.querySelector("dialog[open]")) closeDrawer();
});
