// The same question to several methods, side by side.
import { go, here, href } from "./address.js";
import { liveAnswer } from "./answer.js";
import { filterField, grouped, methodNamed, questionField } from "./choices.js";
import { counted, make, say, shown } from "./dom.js";

const MOST = 4, FIRST = ["auto", "ppr"];
const made = new Map(); // by address: the columns that were made for it
const field = questionField({ id: "compared", rows: "2", placeholder: "One question, several methods" });
const where = filterField("compared-where");
const choice = make("div", { class: "methods" });
const problem = make("p", { class: "soft", role: "status" });
const columns = make("div", { id: "columns" }), summary = make("div", { class: "common" });
const button = make("button", { class: "primary", id: "compare" }, "Compare");
const form = make("form", { class: "card", onsubmit: (event) => {
  event.preventDefault();
  compare();
} }, field, make("fieldset", {}, make("legend", {}, `Methods, two to ${MOST}`), choice), make("div", { class: "row" }, where.toggle, problem, make("span", { class: "grow" }), button), where.panel);
const element = make("section", { class: "view wide", id: "view-compare", "aria-label": "Compare" }, make("h1", { tabindex: "-1" }, "Compare methods"), form, summary, columns);
let chosen = FIRST, running = [];

function offer() {
  const group = ([label, rows]) => {
    const boxes = rows.map(({ name, about }) => {
      const box = make("input", { type: "checkbox", value: name });
      box.checked = chosen.includes(name);
      return make("label", { class: "chip", title: about }, box, name);
    });
    return label === "Often used" ? boxes : make("details", { open: rows.some((each) => chosen.includes(each.name)) }, make("summary", {}, label), make("div", { class: "methods" }, ...boxes));
  };
  choice.replaceChildren(...grouped().map(group).flat());
}
choice.addEventListener("change", () => {
  chosen = [...choice.querySelectorAll("input:checked")].map((box) => box.value);
  problem.textContent = chosen.length > MOST ? `At most ${MOST} at once.` : "";
});

function show(parameters) {
  const wanted = (parameters.get("methods") ?? "").split(",").filter(methodNamed);
  if (wanted.length) chosen = wanted.slice(0, MOST);
  field.value = parameters.get("q") ?? "";
  where.set(parameters.get("where") ?? "");
  offer();
  const [words, held] = made.get(keyOf()) ?? [[]];
  summary.replaceChildren(...words);
  columns.replaceChildren(...(held ?? []));
  if (!held && field.value) button.focus();
}
const keyOf = () => href("compare", { q: field.value.trim(), methods: chosen.join(","), where: where.value });

async function compare() {
  const question = field.value.trim();
  if (!question) return field.focus();
  if (chosen.length < 2 || chosen.length > MOST) {
    problem.textContent = chosen.length < 2 ? "Choose two methods or more." : `At most ${MOST} at once.`;
    return undefined;
  }
  problem.textContent = "";
  for (const each of running) each.abort();
  const key = keyOf(), index = here.index, narrowed = where.value;
  running = chosen.map(() => new AbortController());
  const lives = chosen.map((method) => liveAnswer({ index, question, method, where: narrowed }, { compact: true }));
  const parts = chosen.map((method, row) => make("section", { class: "column", "aria-label": method }, make("h2", {}, method), make("p", { class: "soft" }, methodNamed(method)?.about ?? ""), lives[row].element));
  summary.replaceChildren();
  columns.replaceChildren(...parts);
  made.set(key, [[], parts]);
  go(key, { replace: here.view === "compare" && here.parameters.get("q") === question });
  say(`Asking ${counted(chosen.length, "method")}`);
  const answers = await Promise.all(lives.map((live, row) => live.follow({}, running[row].signal, null)));
  shared(answers, parts);
}

/** Say what the answers have in common, and mark what only one of them cites. */
function shared(answers, parts) {
  const given = answers.filter(Boolean);
  if (given.length < 2) return;
  const cited = given.map((answer) => new Map(answer.citations.map((each) => [each.document_id, shown(each.title || each.document_id)])));
  const common = [...cited[0]].filter(([id]) => cited.every((titles) => titles.has(id))).map(([, title]) => title);
  const said = given.map((answer, row) => [chosen[answers.indexOf(given[row])], answer.span || answer.names.join(", ") || (answer.known ? "no short answer" : "does not know")]);
  const alike = new Set(said.map(([, span]) => span.toLowerCase())).size === 1;
  const told = [alike ? `All say: ${said[0][1]}.` : `They differ: ${said.map(([method, span]) => `${method}: ${span}`).join(" · ")}.`, common.length ? `All cite ${counted(common.length, "document")} alike: ${common.join(", ")}.` : "No document is cited by all of them."];
  for (const [row, part] of parts.entries()) {
    for (const source of part.querySelectorAll("[data-document]")) {
      const alone = !answers.some((answer, other) => other !== row && answer?.citations.some((each) => each.document_id === source.dataset.document));
      if (alone) source.querySelector(".title").after(make("small", { class: "only" }, "only here"));
    }
  }
  summary.replaceChildren(...told.map((each) => make("p", { class: alike || each !== told[0] ? "" : "doubts" }, each)));
  made.set(keyOf(), [[...summary.children], parts]);
  say(`${counted(parts.length, "answer")}. ${told.join(" ")}`);
}

export const compareView = { element, show };
