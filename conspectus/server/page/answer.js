// An answer: its text with marks that open what they cite, its sources, its doubts, and how it was found.
import { addressOf, events, get } from "./api.js";
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
  const live = make("ol", { class: "steps" });

  function stopped() {
    text.setAttribute("aria-busy", "false");
    doing.remove();
  }
  function step(one) {
    doing.querySelector(".doing").textContent = `${cut(shown(`${one.name}: ${one.detail}`), 110)} …`;
    live.append(stepRow(one));
    if (live.children.length === 1) below.replaceChildren(make("details", { class: "how" }, make("summary", {}, "What it does"), live));
  }
  function finish(answer) {
    stopped();
    finished(answer, asked, text, below);
  }
  return {
    element,
    finish,
    /** Ask, show the steps as they come, and the answer. Return it, or null; `again` is called with the failure to try once more. */
    async follow(body, signal, again) {
      try {
        for await (const [name, value] of events(addressOf(asked.index, "ask"), { question: asked.question, method: asked.method, ...(asked.where ? { where: asked.where } : {}), ...body }, signal)) {
          if (name === "step") step(value);
          else if (name === "answer") {
            finish(value);
            return value;
          }
        }
      } catch (failure) {
        if (failure.name !== "AbortError" && failure.title === undefined) throw failure;
        stopped();
        if (failure.name === "AbortError") element.append(make("p", { class: "soft" }, "Stopped."));
        else {
          text.remove();
          element.append(failed(failure, again));
          say(`${failure.title} ${failure.message}`);
        }
      }
      return null;
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
  const [first, others] = carrying(answer), mark = markOf(sources, open);
  text.replaceChildren(...prose(first, mark));
  const row = (each) => sourceRow(each, open), rest = listed.filter((each) => others.length && !first.includes(`[${each.number}]`)), told = listed.filter((each) => !rest.includes(each));
  if (others.length) text.append(make("details", { class: "rest" }, make("summary", {}, `What else was found (${others.length})`), ...prose(others.join("\n"), mark), rest.length ? make("section", { class: "sources" }, make("ol", {}, ...rest.map(row))) : null));
  for (const note of answer.notes.filter((each) => !/^(not supported|citations that)/.test(each))) text.before(make("p", { class: "soft note" }, spoken(note[0].toUpperCase() + note.slice(1))));
  if (answer.span) text.before(make("p", { class: "short" }, make("span", { class: "unseen" }, "In short: "), spoken(answer.span)));
  const chosen = answer.names.slice(0, 12).filter((name) => name !== answer.span || Number.isNaN(Number(name))).map((name) => make("li", {}, make("a", { href: href("entities", { id: name }, answer.index) }, spoken(name.replaceAll("_", " ")))));
  const nearest = new Map((answer.nearest ?? []).map((each) => [(placeIn(each) || each.title).replace(/^"|"$/g, ""), each]));
  below.replaceChildren(...[
    chosen.length ? make("ul", { class: "chips", "aria-label": "Entities of the answer" }, ...chosen) : null,
    nearest.size ? make("div", {}, make("h3", {}, "The nearest passages"), make("ul", { class: "chips" }, ...[...nearest].map(([name, each]) => make("li", {}, make("button", { type: "button", class: "chip", onclick: () => openDocument(each.document_id, [each.start, each.end]) }, spoken(cut(name, 60))))))) : null,
    doubts(answer),
    told.length ? make("section", { class: "sources", "aria-label": "Sources" }, make("h3", {}, counted(told.length, "source")), make("ol", {}, ...told.map(row))) : null,
    make("p", { class: "took" }, took(answer)),
    how(answer),
  ].filter(Boolean));
}

/** The statement that carries a short answer, and the others; a text that a model wrote is one. */
function carrying({ text, span, usage }) {
  const lines = text.split("\n"), said = span.toLowerCase();
  if (!said || usage.calls || usage.remembered || lines.length < 2 || lines.some((line) => !/\[\d+\]\s*$/.test(line))) return [text, []];
  const best = lines.find((line) => line.toLowerCase().includes(said));
  return best ? [best, lines.filter((line) => line !== best)] : [text, []];
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
  return make("li", { "data-document": source.document_id }, make("button", { type: "button", class: "source", onclick: click }, n,
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
