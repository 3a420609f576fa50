// Entities: found by name, page by page; one with what is around it and where it is named.
import { addressOf, get } from "./api.js";
import { changed, here, href } from "./address.js";
import { known } from "./choices.js";
import { counted, cut, folded, listKeys, make, number, say, setCurrent, shown, spoken } from "./dom.js";
import { openDocument } from "./drawer.js";
import { drawing, room } from "./drawing.js";
import { fill } from "./fetching.js";
import { paged, searchField } from "./lists.js";

const PASSAGES = 8, RELATIONS = 20, FACTS = 12;
const search = searchField("entity-name", "Search names", "name");
const list = make("ul", { class: "rows" }), listing = make("div", { class: "listing" });
const side = make("div", { class: "side" }, search, listing);
const detail = make("div", { class: "detail", tabindex: "-1" });
const element = make("section", { class: "view split", id: "view-entities", "aria-label": "Entities" }, make("h1", { tabindex: "-1" }, "Entities"), side, detail);
let listed = "", told = "", guessed = false; // by rules, without a model

listKeys(search, list);

function show(parameters) {
  const name = parameters.get("name") ?? "", id = parameters.get("id") ?? "";
  element.classList.toggle("chosen", Boolean(id));
  if (document.activeElement !== search) search.value = name;
  if (listed !== `${here.index} ${name}`) {
    listed = `${here.index} ${name}`;
    first(name);
  }
  mark(id);
  if (told === `${here.index} ${id}`) return;
  told = `${here.index} ${id}`;
  if (id) fill(detail, "Looking it up …", () => Promise.all([get(path(id), { limit: 100 }), get(`${path(id)}/drawing`, { width: room(detail) }).catch(() => null), get(`${path(id)}/timeline`, { limit: 100 })]), about);
  else detail.replaceChildren(make("p", { class: "soft empty" }, "Choose an entity to see what is known of it, and what it is joined to."));
}
const mark = (id) => setCurrent(list.querySelectorAll("a"), (link) => link.dataset.id === id);

async function first(name) {
  const began = performance.now();
  const { status } = await known(here.index).catch(() => ({}));
  guessed = status?.models.extraction?.startsWith("en_core") || status?.models.extraction === "regex";
  await paged(listing, addressOf(here.index, "entities"), { name }, row, (page, body, foot) => [make("p", { class: "soft", role: "status" }, `${counted(page.total, "entity", "entities")}${name ? ` with “${shown(cut(name, 40))}”` : ""}`), body, foot], list);
  mark(here.parameters.get("id") ?? "");
  performance.measure("entities listed", { start: began, end: performance.now() });
}
const kindOf = (each) => shown(each.type.toLowerCase().replaceAll("_", " "));
const row = (each) => make("li", {}, make("a", { href: changed({ id: each.id, doc: null, span: null }), "data-id": each.id, onclick: (event) => {
  event.currentTarget.href = changed({ id: each.id, doc: null, span: null }); // the name that is searched may have changed since
} }, spoken(each.name), make("small", { title: guessed ? "guessed by rules" : null }, kindOf(each), guessed && each.type ? "?" : ""), make("small", { class: "count", title: "passages that name it" }, number(each.frequency))));

const path = (id) => addressOf(here.index, `entities/${encodeURIComponent(id)}`);

function about([found, around, { rows: dated }]) {
  say(found.name);
  return [
    make("p", { class: "narrow-only" }, make("a", { href: changed({ id: null }) }, "← All entities")),
    make("p", { class: "kicker" }, kindOf(found) || "entity", guessed ? " · guessed by rules" : ""),
    make("h2", {}, spoken(found.name)),
    make("ul", { class: "facts" }, make("li", {}, make("b", {}, number(found.frequency)), ` ${found.frequency === 1 ? "passage" : "passages"}`), make("li", {}, make("b", {}, number(found.degree)), found.degree === 1 ? " neighbour" : " neighbours"), make("li", {}, make("a", { href: href("map", { entity: found.id }) }, "Show it on the map"))),
    found.description ? make("p", { class: "lead", dir: "auto" }, shown(found.description)) : null,
    around && drawing(around),
    ...relations(found),
    ...(dated.length ? [make("h3", {}, "When"), ...folded(dated, FACTS, fact, { class: "relations" })] : []),
    ...beside(found),
    passages(found),
  ];
}

function relations(found) {
  if (!found.neighbours.length) return [];
  const items = found.neighbours.map((each) => {
    const other = make("a", { href: changed({ id: each.entity_id, doc: null, span: null }) }, spoken(each.name));
    const said = make("i", {}, shown(each.predicate.replaceAll("_", " ") || "—"));
    const self = spoken(found.name, { class: "soft" });
    const shownBy = each.chunk_ids.length ? make("button", { type: "button", class: "plain", onclick: () => openChunk(each.chunk_ids[0]) }, "where it is said") : null;
    return make("li", {}, each.outgoing ? [self, " ", said, " ", other] : [other, " ", said, " ", self], each.description && !each.predicate ? make("p", { class: "soft", dir: "auto" }, shown(each.description)) : null, " ", shownBy);
  });
  return [make("h3", {}, counted(items.length, "relation")), ...folded(items, RELATIONS, undefined, { class: "relations" })];
}
/** A dated fact with the sentence that states it. */
function fact(row) {
  const said = row.document_id ? make("button", { type: "button", class: "plain", onclick: () => openDocument(row.document_id, [row.start, row.end]) }, "where it is said") : null;
  return make("li", {}, make("b", {}, shown(row.when || "no date")), row.basis === "document" ? " (the document's date) " : " ", spoken(row.statement), " ", said);
}
function beside(found) {
  if (!found.beside.length) return [];
  const items = found.beside.slice(0, 24).map((each) => make("li", {}, make("a", { href: changed({ id: each.entity_id, doc: null, span: null }) }, spoken(each.name)), make("small", {}, ` ${each.passages}`)));
  return [make("h3", {}, "Named in the same passages"), make("ul", { class: "chips" }, ...items)];
}
async function openChunk(id) {
  const [found] = await get(addressOf(here.index, "passages"), { chunk: [id] });
  if (found) openDocument(found.document_id, [found.start, found.end]);
}

function passages(found) {
  if (!found.chunk_ids.length) return null;
  const place = make("div", {});
  const row = (each) => make("li", {}, make("button", { type: "button", class: "source", onclick: () => openDocument(each.document_id, [each.start, each.end]) }, make("span", {}, make("span", { class: "title" }, spoken(cut(each.title || each.document_id, 100))), each.place ? make("small", {}, shown(each.place)) : null, make("span", { class: "quote" }, ...marked(each.text, found.name)))));
  fill(place, "Fetching the passages …", () => get(addressOf(here.index, "passages"), { chunk: found.chunk_ids.slice(0, 50) }), (rows) => folded(rows, PASSAGES, row, { class: "passages" }));
  return make("section", {}, make("h3", {}, "Where it is named"), place);
}
/** A piece of a text around a name, the name marked. */
function marked(text, name) {
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return [spoken(cut(text, 200))];
  const from = Math.max(at - 90, 0), end = Math.min(at + name.length + 110, text.length);
  return [make("bdi", { dir: "auto" }, from ? "… " : "", shown(text.slice(from, at)), make("mark", {}, shown(text.slice(at, at + name.length))), shown(text.slice(at + name.length, end)), end < text.length ? " …" : "")];
}

export const entitiesView = { element, show };
