// Why a passage was found: the terms of its score, and the paths by which a walk came to it.
import { addressOf, send } from "./api.js";
import { methodNamed } from "./choices.js";
import { make, shown, spoken } from "./dom.js";
import { drawing, room } from "./drawing.js";
import { fill } from "./fetching.js";

const DEFAULT = "ppr", LOOKED_AT = 20;

/** Fill a place with why a source of an answer was found. */
export function whyFound(place, source, about) {
  const base = about.method.replace(/:offline$/, "");
  const method = methodNamed(base)?.explains ? base : DEFAULT;
  const body = { question: about.question, method, k: LOOKED_AT, drawing: room(document.getElementById("drawer")), ...(about.where ? { where: about.where } : {}) };
  return fill(place, "Looking again, with an account of every step …", () => send("POST", addressOf(about.index, "explain"), body), (found) => {
    const inside = ({ passage }) => passage.document_id === source.document_id && passage.start < source.end && source.start < passage.end;
    const told = found.passages.filter(inside);
    const other = method === base ? null : make("p", { class: "soft" }, `The method ${base} gives no account of single passages. This is how ${method} comes to the same place.`);
    if (!told.length) return [other, make("p", {}, `${method} does not have this passage among its first ${LOOKED_AT}.`), steps(found.trace)];
    return [other, ...told.map((each) => explained(each)), formula(found), steps(found.trace)];
  });
}

function explained(each) {
  const most = Math.max(...each.parts.map((part) => Math.abs(part.value)), 1e-12);
  const parts = each.parts.map((part) => make("tr", {}, make("th", { scope: "row" }, shown(part.name)), make("td", { class: "value" }, part.value.toPrecision(3)), make("td", {}, bar(Math.max(part.value, 0) / most), make("small", {}, spoken(part.detail)))));
  return make("section", {},
    make("h3", {}, each.rank ? `Place ${each.rank}` : "Not ranked", each.rank ? make("small", {}, ` score ${each.passage.score.toPrecision(4)}`) : null),
    each.note ? make("p", {}, shown(each.note)) : null,
    each.paths.length ? make("div", {}, make("h4", {}, "How the walk came here"), each.drawing && drawing(each.drawing), make("ol", { class: "paths" }, ...each.paths.map(path))) : null,
    parts.length ? make("div", {}, make("h4", {}, "The parts of its score"), make("table", {}, make("caption", { class: "unseen" }, "The parts of the score"), make("tbody", {}, ...parts))) : null);
}

function bar(share) {
  const inside = make("i", {});
  inside.style.width = `${share * 100}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, inside);
}

function path(each) {
  const nodes = each.hops.flatMap((hop, place) => [place ? make("i", {}, ` ${shown(hop.edge)} → `) : null, make("span", { class: hop.node.kind }, spoken(hop.node.name))]);
  const share = each.share >= 0.995 ? "all" : `${(each.share * 100).toFixed(each.share < 0.1 ? 1 : 0)} %`;
  return make("li", {}, make("b", {}, share), " ", ...nodes, make("small", {}, ` begins: ${shown(each.why)}`));
}

const formula = (found) => (found.formula ? make("p", { class: "soft" }, "score = ", make("code", {}, shown(found.formula))) : null);
const steps = (trace) => (trace.length ? make("details", {}, make("summary", {}, "Steps"), make("ol", { class: "steps" }, ...trace.map((step) => make("li", {}, make("b", {}, shown(step.name)), " ", spoken(step.detail))))) : null);
