// The documents, the map, and the state of an index with what was lost.
import { addressOf, forgetToken, get, hasToken } from "./api.js";
import { changed, go, here } from "./address.js";
import { counted, make, number, shown, spoken } from "./dom.js";
import { openDocument } from "./drawer.js";
import { failed, fill } from "./fetching.js";

const PAGE = 50;

/** Rows page by page: the first ones, and more when asked. */
export function paged(place, path, parameters, row, describe) {
  return fill(place, "Fetching …", () => get(path, { ...parameters, limit: PAGE }), (page) => {
    const body = make("tbody", {}, ...page.rows.map(row)), foot = make("div", {});
    const offer = (last) => {
      foot.replaceChildren();
      if (!last.next) return;
      const button = make("button", { type: "button", onclick: async () => {
        button.disabled = true;
        try {
          const following = await get(last.next);
          body.append(...following.rows.map(row));
          offer(following);
        } catch (failure) {
          if (failure.title === undefined) throw failure;
          foot.replaceChildren(failed(failure, () => offer(last)));
        }
      } }, `Show more (${number(last.total - body.children.length)} left)`);
      foot.append(button);
    };
    offer(page);
    return describe(page, body, foot);
  });
}
export const table = (names, body) => make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table, can be scrolled" }, make("table", {}, make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))), body));

// Documents

const title = make("input", { type: "search", id: "document-title", "aria-label": "Title of a document", placeholder: "Search titles", autocomplete: "off", spellcheck: "false", dir: "auto", maxlength: "500" });
const documents = make("div", {});
let listed = "", timer = 0;
title.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => go(changed({ title: title.value }), { replace: true }), 150);
});
export const documentsView = {
  element: make("section", { class: "view", id: "view-documents", "aria-label": "Documents" }, make("h1", { tabindex: "-1" }, "Documents"), title, documents),
  show(parameters) {
    const wanted = parameters.get("title") ?? "";
    if (document.activeElement !== title) title.value = wanted;
    if (listed === `${here.index} ${wanted}`) return;
    listed = `${here.index} ${wanted}`;
    const row = (each) => make("tr", {}, make("td", {}, make("button", { type: "button", class: "link", onclick: (event) => openDocument(each.id, null, { from: event.currentTarget }) }, spoken(each.title || each.id)), each.uri && each.uri !== each.title ? make("small", {}, spoken(each.uri)) : null), make("td", { class: "value" }, number(each.n_chars)));
    paged(documents, addressOf(here.index, "documents"), { title: wanted }, row, (page, body, foot) => [make("p", { class: "soft", role: "status" }, counted(page.total, "document")), page.total ? table(["Title", "Characters"], body) : null, foot]);
  },
};

// The map, which is a page of its own

const frame = make("iframe", { title: "Map of the index", id: "map-frame" });
export const mapView = {
  element: make("section", { class: "view full", id: "view-map", "aria-label": "Map" }, make("h1", { class: "unseen", tabindex: "-1" }, "Map"), frame),
  show(parameters) {
    const entity = parameters.get("entity"), community = parameters.get("community");
    const at = entity ? `#entity=${encodeURIComponent(entity)}` : community ? `#community=${encodeURIComponent(community)}` : "";
    const wanted = `/page/map.html?index=${encodeURIComponent(here.index)}${at}`;
    if (frame.getAttribute("src") !== wanted) frame.setAttribute("src", wanted);
  },
};

// Status and failures

const numbers = make("div", {}), failures = make("div", {});
export const statusView = {
  element: make("section", { class: "view", id: "view-status", "aria-label": "Status" }, make("h1", { tabindex: "-1" }, "Status"), numbers, make("h2", {}, "What was lost when the index was made"), failures),
  show() {
    fill(numbers, "Fetching …", () => Promise.all([get(addressOf(here.index, "status")), get("/v1/versions")]), ([status, versions]) => {
      const pair = (name, value) => make("div", {}, make("dt", {}, shown(name)), make("dd", {}, spoken(value)));
      return [
        make("ul", { class: "numbers" }, ...Object.entries(status.rows).filter(([, n]) => n).map(([name, n]) => make("li", {}, make("b", {}, number(n)), ` ${name.replaceAll("_", " ")}`))),
        make("dl", {}, pair("Version of the index", status.version), pair("Answers are written by", status.answers_with || "no language model: sentences of the documents"), ...Object.entries(status.models).filter(([step, model]) => model && step !== "dimension").map(([step, model]) => pair(`Model of ${step.replaceAll("_", " ")}`, model)), pair("Program", `Conspectus ${versions.conspectus}, interface ${versions.api}, format ${status.format}`)),
        hasToken() ? make("p", {}, make("button", { type: "button", onclick: forgetToken }, "Forget the token and all conversations")) : null,
      ];
    });
    const row = (each) => make("tr", {}, make("td", {}, shown(each.stage)), make("td", {}, spoken(each.item_id)), make("td", {}, spoken(each.reason), each.detail ? make("small", {}, spoken(each.detail)) : null));
    paged(failures, addressOf(here.index, "failures"), {}, row, (page, body, foot) => (page.total ? [make("p", { class: "soft" }, counted(page.total, "row")), table(["Step", "What", "Why"], body), foot] : [make("p", { class: "soft" }, "No failure is recorded.")]));
  },
};
