// The documents, the map, and the state of an index with what was lost and what has changed.
import { addressOf, forgetToken, get, hasToken, pathOf, rights, send, signIn } from "./api.js";
import { changed, go, here, href } from "./address.js";
import { counted, make, number, shown, spoken } from "./dom.js";
import { openDocument } from "./drawer.js";
import { attempt, fill } from "./fetching.js";

const PAGE = 50;

/** Rows page by page: the first ones, and more when asked. `describe` says what stands around `body`, which has them. */
export function paged(place, path, parameters, row, describe, body = make("tbody", {})) {
  return fill(place, "Fetching …", () => get(path, { ...parameters, limit: PAGE }), (page) => {
    const foot = make("div", {});
    const add = (found) => {
      const rows = found.rows.map(row);
      body.append(...rows);
      foot.replaceChildren();
      const more = () => attempt(foot, async () => add(await get(found.next)).querySelector("a, button")?.focus(), more);
      if (found.next) foot.append(make("button", { type: "button", onclick: (event) => {
        event.currentTarget.disabled = true;
        more();
      } }, `Show more (${number(found.total - body.children.length)} left)`));
      return rows[0] ?? foot;
    };
    body.replaceChildren();
    add(page);
    return describe(page, body, foot);
  });
}
const heading = (name) => make("th", { scope: "col" }, name);
export const table = (names, body) => make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table, can be scrolled" }, make("table", {}, make("thead", {}, make("tr", {}, ...names.map((name) => (typeof name === "string" ? heading(name) : name)))), body));

/** A field that narrows a list by what is typed, a moment after the last sign. */
export function searchField(id, name, parameter) {
  let timer = 0;
  const field = make("input", { type: "search", id, "aria-label": name, placeholder: name, autocomplete: "off", spellcheck: "false", dir: "auto", maxlength: "500", oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => go(changed({ [parameter]: field.value }), { replace: true }), 120);
  } });
  return field;
}

// Documents

const title = searchField("document-title", "Search titles and addresses", "title");
const documents = make("div", {}), removed = make("p", { role: "status" });
const ORDERS = { title: "Title", date: "Date", size: "Characters" };
export const documentsView = {
  element: make("section", { class: "view", id: "view-documents", "aria-label": "Documents" }, make("h1", { tabindex: "-1" }, "Documents"), title, removed, documents),
  async show(parameters) {
    const wanted = parameters.get("title") ?? "", sort = parameters.get("sort") in ORDERS ? parameters.get("sort") : "title", key = [here.index, wanted, sort].join(" ");
    if (document.activeElement !== title) title.value = wanted;
    if (documents.dataset.shown === key && !rights.administrator) return;
    documents.dataset.shown = key;
    const waiting = rights.administrator ? await get(addressOf(here.index, "changes")).catch(() => ({ removals: [] })) : { removals: [] };
    const gone = new Set(waiting.removals.map((each) => each.id));
    const tell = () => removed.replaceChildren(...(gone.size ? [`${counted(gone.size, "document")} will be removed by the next build: `, make("a", { href: href("manage") }, "Manage")] : []));
    const remove = (each) => make("td", {}, make("button", { type: "button", class: "plain", "aria-label": `Remove ${each.title}`, disabled: gone.has(each.id), onclick: ({ currentTarget }) => attempt(removed, async () => {
      await send("PUT", addressOf(here.index, `removals/${pathOf(each.id)}`));
      currentTarget.disabled = Boolean(gone.add(each.id));
      tell();
    }) }, "Remove"));
    const row = (each) => make("tr", {}, make("td", {}, make("button", { type: "button", class: "link", onclick: (event) => openDocument(each.id, null, { from: event.currentTarget }) }, spoken(each.title || each.id)), each.uri && each.uri !== each.title ? make("small", {}, spoken(each.uri)) : null), make("td", { class: "value" }, shown((each.metadata.date ?? "").slice(0, 10))), make("td", { class: "value" }, number(each.n_chars)), rights.administrator ? remove(each) : null);
    const heads = Object.entries(ORDERS).map(([order, name]) => make("th", { scope: "col", "aria-sort": order === sort ? (order === "title" ? "ascending" : "descending") : null }, make("a", { href: changed({ sort: order }) }, name)));
    tell();
    paged(documents, addressOf(here.index, "documents"), { title: wanted, sort }, row, (page, body, foot) => [make("p", { class: "soft", role: "status" }, counted(page.total, "document")), page.total ? table([...heads, rights.administrator ? "" : null].filter((each) => each !== null), body) : null, foot]);
  },
};

// Statements that disagree

const pairs = make("div", {});
const statement = (each) => make("li", {}, make("button", { type: "button", class: "source", onclick: () => openDocument(each.document_id, [each.start, each.end]) }, make("span", {}, make("span", { class: "title" }, each.when ? `${shown(each.when)}: ` : "", spoken(each.statement)), make("small", {}, spoken(each.title || each.document_id)), make("span", { class: "quote" }, spoken(each.quote)))));
export const conflictsView = {
  element: make("section", { class: "view", id: "view-conflicts", "aria-label": "Conflicts" }, make("h1", { tabindex: "-1" }, "Conflicts"), pairs),
  show() {
    const row = (each) => make("li", { class: "sources" }, make("h2", {}, spoken(each.about), make("small", {}, ` ${shown(each.word)}`)), make("ul", {}, statement(each.one), statement(each.other)));
    paged(pairs, addressOf(here.index, "conflicts"), {}, row, (page, body, foot) => [make("p", { class: "soft" }, page.total ? `${counted(page.total, "pair")} of statements that cannot both hold, each with where it is said` : "No two statements were found that cannot both hold."), body, foot], make("ul", { class: "jobs" }));
  },
};

// The map, which is a page of its own

const frame = make("iframe", { title: "Map of the index", id: "map-frame", src: "/page/map.html", onload: draw }), lost = make("div", {});
let drawn = "";
function draw() {
  const { document: page, location: place, drawMap } = frame.contentWindow, index = here.index;
  if (!drawMap) return;
  addressed();
  fill(lost, "The map is being drawn …", () => get(addressOf(index, "map")), (found) => {
    page.getElementById("data-map").textContent = JSON.stringify(found.map);
    page.getElementById("data-texts").textContent = JSON.stringify(found.texts);
    drawMap();
    drawn = index;
    frame.contentWindow.addEventListener("hashchange", () => go(href("map", Object.fromEntries(new URLSearchParams(place.hash.slice(1)))), { replace: true })); // what is selected there is in the address here
    return [];
  });
}
/** Let the map select what the address names. */
function addressed() {
  const [[name, id] = []] = [...here.parameters].filter(([each]) => each === "entity" || each === "community");
  const wanted = name ? `${name}=${encodeURIComponent(id)}` : "", place = frame.contentWindow.location;
  if (place.hash.slice(1) !== wanted) place.hash = wanted;
}
export const mapView = {
  element: make("section", { class: "view full", id: "view-map", "aria-label": "Map" }, make("h1", { class: "unseen", tabindex: "-1" }, "Map"), lost, frame),
  show() {
    if (!frame.contentWindow?.drawMap) return; // it is drawn when it has come
    if (drawn === here.index) addressed();
    else frame.contentWindow.location.reload();
  },
};

// Status, changes and failures

const numbers = make("div", {}), differences = make("div", {}), failures = make("div", {});
const compared = make("details", { ontoggle: () => compared.open && fill(differences, "Comparing …", () => get(addressOf(here.index, "diff")), changes) }, make("summary", {}, "What differs from the version before"), differences);
function changes(found) {
  const change = (each) => make("li", {}, make("b", {}, `${number(each.count)} ${each.table} ${each.change}`), ": ", spoken(each.names.join("; ")), each.count > each.names.length ? ` and ${number(each.count - each.names.length)} more` : "");
  return [make("p", { class: "soft" }, `Since version ${found.before}`), found.changes.length ? make("ul", { class: "relations" }, ...found.changes.map(change)) : make("p", {}, "Nothing differs.")];
}
export const statusView = {
  element: make("section", { class: "view", id: "view-status", "aria-label": "Status" }, make("h1", { tabindex: "-1" }, "Status"), numbers, compared, make("h2", {}, "What was lost when the index was made"), failures),
  show() {
    fill(numbers, "Fetching …", () => Promise.all([get(addressOf(here.index, "status")), get("/v1/versions")]), ([status, versions]) => {
      const pair = (name, value) => make("div", {}, make("dt", {}, shown(name)), make("dd", {}, spoken(value)));
      const correction = (each) => make("li", {}, make("code", {}, shown(each.text)), make("small", {}, each.places ? ` in force at ${counted(each.places, "place")}` : " matches nothing any more"));
      return [
        make("ul", { class: "numbers" }, ...Object.entries(status.rows).filter(([, n]) => n).map(([name, n]) => make("li", {}, make("b", {}, number(n)), ` ${name === "chunks" ? "passages" : name.replaceAll("_", " ")}`))),
        make("dl", {}, pair("Version of the index", status.version), pair("Answers are written by", status.answers_with || "no language model: sentences of the documents"), ...Object.entries(status.models).filter(([step, model]) => model && step !== "dimension").map(([step, model]) => pair(`Model of ${step.replaceAll("_", " ")}`, model)), pair("Program", `Conspectus ${versions.conspectus}, interface ${versions.api}, format ${status.format}`)),
        status.corrections.length ? make("section", {}, make("h2", {}, "Corrections"), make("ul", { class: "relations" }, ...status.corrections.map(correction))) : null,
        rights.on && !rights.administrator ? make("details", {}, make("summary", {}, "Administer"), signIn()) : null,
        hasToken() ? make("p", {}, make("button", { type: "button", onclick: forgetToken }, "Forget the token and all conversations")) : null,
      ];
    });
    compared.open = false;
    const row = (each) => make("tr", {}, make("td", {}, shown(each.stage)), make("td", {}, spoken(each.item_id)), make("td", {}, spoken(each.reason), each.detail ? make("small", {}, spoken(each.detail)) : null));
    paged(failures, addressOf(here.index, "failures"), {}, row, (page, body, foot) => (page.total ? [make("p", { class: "soft" }, counted(page.total, "row")), table(["Step", "What", "Why"], body), foot] : [make("p", { class: "soft" }, "No failure is recorded.")]));
  },
};
