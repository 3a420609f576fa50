// An answer: its text with marks that open what they cite, its sources, its doubts, and how it was found.
import { addressOf, get } from "./api.js";
import { href } from "./address.js";
import { counted, cut, make, number, say, shown, spoken } from "./dom.js";
import { openDocument, openSource } from "./drawer.js";
import { drawing } from "./drawing.js";
import { failed } from "./fetching.js";

const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|(?:\[\d{1,4}\])+)/;

/** The elements of a text: paragraphs, lists, and marks made by `mark`. Nothing in it is markup but a little Markdown. */
export function prose(text, mark) {
  const blocks = [];
  let list = null;
  const inline = (line) =>
    shown(line).split(INLINE).map((part, place) => {
      if (place % 2 === 0) return part;
      if (part.startsWith("**")) return make("strong", {}, part.slice(2, -2));
      if (part.startsWith("`")) return make("code", {}, part.slice(1, -1));
      return [...part.matchAll(/\d+/g)].map(([found]) => mark(Number(found)));
    });
  for (const line of text.split("\n")) {
    if (list && /^\s+\S/.test(line) && !/^\s*([-*•]|\d{1,3}[.)])\s/.test(line)) {
      list.lastElementChild.append(make("p", { dir: "auto" }, inline(line.trim()))); // more of the item above
      continue;
    }
    const [, bullet, item] = /^\s{0,6}([-*•]|\d{1,3}[.)])\s+(.*)$/.exec(line) ?? [];
    const [, heading] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
    if (bullet) {
      const kind = /\d/.test(bullet) ? "ol" : "ul";
      if (list?.localName !== kind) blocks.push((list = make(kind, kind === "ol" ? { start: parseInt(bullet, 10) } : {})));
      list.append(make("li", { dir: "auto" }, inline(item)));
    } else if (line.trim()) {
      list = null;
      blocks.push(make(heading ? "h4" : "p", { dir: "auto" }, inline(heading ?? line)));
    } else if (list && !line) continue;
  }
  return blocks;
}

/** A mark in a text: opens the source with its number. A number without a source stays a number. */
function markOf(sources, open) {
  return (found) => {
    const source = sources.get(found);
    if (!source) return make("sup", { class: "mark" }, String(found));
    const about = source.quote === undefined ? `${source.source} ${source.predicate} ${source.target}` : `${source.title || source.document_id}${source.place ? `, ${source.place}` : ""}`;
    return make("button", { type: "button", class: "mark", "data-source": found, "aria-label": `Source ${found}: ${cut(shown(about), 90)}`, title: cut(shown(source.quote ?? about), 300), onclick: (event) => open(found, event.currentTarget) }, String(found));
  };
}

/** An answer in the making. `asked` is { index, question, method, where }. */
export function liveAnswer(asked, { compact = false } = {}) {
  const text = make("div", { class: "text", "aria-live": "polite", "aria-busy": "true" });
  const doing = make("p", { class: "waiting" }, make("span", { class: "spinner", "aria-hidden": "true" }), make("span", { class: "doing" }, "Looking …"));
  const below = make("div", { class: "below" });
  const element = make("article", { class: compact ? "answer compact" : "answer", "aria-label": `Answer by ${asked.method}` }, doing, text, below);
  const steps = [];
  let written = "", drawn = false;
  const live = make("ol", { class: "steps" });

  function redraw() {
    drawn = false;
    if (text.getAttribute("aria-busy") === "true") text.replaceChildren(...prose(written, (found) => make("sup", { class: "mark" }, String(found))));
  }
  function stopped() {
    text.setAttribute("aria-busy", "false");
    doing.remove();
  }
  return {
    element,
    text(piece) {
      written += piece;
      doing.querySelector(".doing").textContent = "Writing …";
      if (!drawn) requestAnimationFrame(redraw);
      drawn = true;
    },
    step(step) {
      steps.push(step);
      doing.querySelector(".doing").textContent = `${cut(shown(`${step.name}: ${step.detail}`), 110)} …`;
      live.append(stepRow(step));
      if (steps.length === 1) below.replaceChildren(make("details", { class: "how" }, make("summary", {}, "What it does"), live));
    },
    finish(answer, { quiet = false } = {}) {
      stopped();
      finished(answer, asked, text, below);
      if (!quiet) say(answer.known ? `Answered from ${counted(answer.citations.length + answer.triples.length, "source")}.` : "Answered without a source.");
    },
    fail(failure, again) {
      stopped();
      if (!written) text.remove();
      element.append(failed(failure, again));
    },
    stop() {
      stopped();
      element.append(make("p", { class: "soft" }, "Stopped."));
    },
  };
}

function finished(answer, asked, text, below) {
  const sources = new Map([...answer.citations, ...answer.triples].map((each) => [each.number, each]));
  const listed = [...sources.values()].sort((a, b) => a.number - b.number);
  const about = { index: answer.index, version: answer.version, question: answer.standalone || answer.question, method: answer.method, where: asked.where, citations: answer.citations };
  const open = (found, from) => {
    const source = sources.get(found);
    if (source.quote === undefined) openTriple(source, answer.index);
    else openSource(source, about, from);
  };
  text.replaceChildren(...prose(answer.text, markOf(sources, open)));
  for (const note of answer.notes.filter((each) => /^(understood as:|read) /.test(each))) text.before(make("p", { class: "soft" }, spoken(note[0].toUpperCase() + note.slice(1))));
  if (answer.span) text.before(make("p", { class: "short" }, make("span", { class: "unseen" }, "In short: "), spoken(answer.span)));
  const chosen = answer.names.slice(0, 12).map((name) => make("li", {}, make("a", { href: href("entities", { id: name }, answer.index) }, spoken(name.replaceAll("_", " ")))));
  below.replaceChildren(...[
    chosen.length ? make("ul", { class: "chips", "aria-label": "Entities of the answer" }, ...chosen) : null,
    doubts(answer),
    listed.length ? make("section", { class: "sources", "aria-label": "Sources" }, make("h3", {}, counted(listed.length, "source")), make("ol", {}, ...listed.map((each) => sourceRow(each, open)))) : null,
    make("p", { class: "took" }, took(answer)),
    how(answer),
  ].filter(Boolean));
}

/** A relation of the graph: the passage that states it, or where none does the entity that it is of. */
async function openTriple(triple, index) {
  const path = addressOf(index, `entities/${encodeURIComponent(triple.source)}/neighbours`);
  const page = await get(path, { predicate: triple.predicate, limit: 1000 }).catch(() => ({ rows: [] }));
  const stated = page.rows.find((row) => row.relation_id === triple.relation_id)?.chunk_ids ?? [];
  const [passage] = stated.length ? await get(addressOf(index, "passages"), { chunk: stated.slice(0, 1) }).catch(() => []) : [];
  if (passage) openDocument(passage.document_id, [passage.start, passage.end]);
  else location.hash = href("entities", { id: triple.source }, index);
}

function sourceRow(source, open) {
  const click = (event) => open(source.number, event.currentTarget);
  const n = make("span", { class: "number" }, String(source.number));
  if (source.quote === undefined) {
    return make("li", {}, make("button", { type: "button", class: "source", onclick: click }, n, make("span", {}, make("span", { class: "title" }, spoken(source.source.replaceAll("_", " ")), make("i", {}, ` ${shown(source.predicate.replaceAll("_", " "))} `), spoken(source.target.replaceAll("_", " "))), make("small", {}, "a relation of the graph"))));
  }
  return make("li", {}, make("button", { type: "button", class: "source", onclick: click }, n,
    make("span", {}, make("span", { class: "title" }, spoken(cut(source.title || source.document_id, 120))), placeIn(source) ? make("small", {}, shown(placeIn(source))) : null, make("span", { class: "quote" }, spoken(cut(source.quote, 220))))));
}

/** The place in a document in words, without its title, which stands above. */
function placeIn({ title, place }) {
  const inside = place.replace(`"${title} > `, '"');
  return inside === `"${title}"` ? "" : inside;
}

/** What a reader should not trust. */
function doubts(answer) {
  const unsupported = answer.checks.filter((check) => !check.supported);
  const told = [];
  if (unsupported.length) told.push(make("p", {}, `${unsupported.length} of ${counted(answer.checks.length, "cited sentence")} ${unsupported.length === 1 ? "is" : "are"} not supported by what ${unsupported.length === 1 ? "it cites" : "they cite"}:`), make("ul", {}, ...unsupported.map((check) => make("li", {}, spoken(check.sentence), check.why ? make("small", {}, ` ${shown(check.why)}`) : null))));
  if (answer.dropped_citations) told.push(make("p", {}, `${counted(answer.dropped_citations, "citation")} of the model led nowhere and ${answer.dropped_citations === 1 ? "was" : "were"} removed.`));
  return told.length ? make("div", { class: "doubts" }, ...told) : null;
}

function took({ method, usage, narrowed, version }) {
  const parts = [method, `${usage.seconds < 10 ? usage.seconds.toFixed(2) : Math.round(usage.seconds)} s`];
  if (usage.calls) {
    parts.push(counted(usage.calls, "call"), counted(usage.prompt_tokens + usage.completion_tokens, "token"));
    parts.push(usage.cost === null ? "cost unknown" : `$${usage.cost.toFixed(usage.cost < 0.01 ? 5 : 3)}`);
  } else if (!usage.remembered) parts.push("no language model");
  if (usage.remembered) parts.push(`${number(usage.remembered)} remembered`);
  if (narrowed) parts.push(shown(narrowed));
  return `${parts.join(" · ")} · version ${version}`;
}

const stepRow = (step) => make("li", {}, make("b", {}, shown(step.name)), " ", spoken(step.detail));

function how(answer) {
  const walk = answer.walk, inside = [];
  if (answer.drawing) inside.push(drawing(answer.drawing));
  if (answer.trace.length) inside.push(make("ol", { class: "steps" }, ...answer.trace.map(stepRow)));
  if (walk?.decisions.length) inside.push(make("details", {}, make("summary", {}, `All ${counted(walk.decisions.length, "decision")} of the walk`), make("ol", { class: "steps" }, ...walk.decisions.map(decisionRow))));
  if (!inside.length) return null;
  return make("details", { class: "how", open: Boolean(answer.drawing) }, make("summary", {}, "How it was found"), ...inside);
}

function decisionRow(decision) {
  const options = decision.considered.map((each) => make("li", { class: each.kept ? "kept" : "dropped" }, make("span", { "aria-label": each.kept ? "kept" : "dropped" }, each.kept ? "+" : "−"), " ", spoken(cut(each.label, 160)), each.why ? make("small", {}, ` ${shown(cut(each.why, 120))}`) : null, each.score === null ? null : make("small", {}, ` ${each.score.toFixed(3)}`)));
  return make("li", {}, make("b", {}, shown(decision.stage)), " ", spoken(decision.at), decision.outcome ? make("span", {}, ": ", spoken(decision.outcome)) : null, options.length ? make("ul", { class: "options" }, ...options) : null);
}
