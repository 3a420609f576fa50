// Ask, read the answer, and ask on.
import { go, here, href } from "./address.js";
import { liveAnswer } from "./answer.js";
import { addressOf, get } from "./api.js";
import { room } from "./drawing.js";
import { counted, make, number, say, shown, spoken } from "./dom.js";
import { filterField, known, methodChoice, questionField } from "./choices.js";

const MOST_KEPT = 20;
const threads = new Map(); // by id: { id, index, turns: [{ question, method, where, answer }] }
let shownThread = null, running = null;

const turns = make("div", { id: "turns" });
const field = questionField({ id: "question", rows: "1", placeholder: "Ask the documents", enterkeyhint: "send" });
const button = make("button", { class: "primary", id: "ask" }, "Ask");
const method = methodChoice("method");
const where = filterField("where");
const fresh = make("a", { class: "plain", id: "fresh", hidden: true, "aria-label": "New conversation" }, "New");
const note = make("p", { class: "soft", id: "note", hidden: true });
const welcome = make("div", { id: "welcome" }), offers = make("div", { id: "offers" }); // below the field, which does not move when they come
const form = make("form", { id: "composer", onsubmit: (event) => {
  event.preventDefault();
  if (running) running.abort();
  else ask(field.value.trim());
} }, note, make("div", { class: "box" }, field, make("div", { class: "row" }, method.element, where.toggle, fresh, make("span", { class: "grow" }), button), where.panel), method.about);
const element = make("section", { class: "view", id: "view-ask", "aria-label": "Ask" }, make("h1", { class: "unseen", tabindex: "-1" }, "Ask"), welcome, turns, form, offers);

const grow = () => {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 220)}px`;
};
field.addEventListener("input", grow);

function keep(thread) {
  threads.set(thread.id, thread);
  try {
    const kept = JSON.parse(sessionStorage.getItem("conspectus threads") ?? "[]").filter((id) => id !== thread.id);
    for (const old of kept.splice(0, Math.max(kept.length - MOST_KEPT + 1, 0))) sessionStorage.removeItem(`conspectus thread ${old}`);
    sessionStorage.setItem(`conspectus thread ${thread.id}`, JSON.stringify({ ...thread, turns: thread.turns.filter((turn) => turn.answer) }));
    sessionStorage.setItem("conspectus threads", JSON.stringify([...kept, thread.id]));
  } catch {
    // The tab's store is full: the conversation is then gone when the page is loaded again.
  }
}
function found(id) {
  if (!threads.has(id)) {
    const kept = sessionStorage.getItem(`conspectus thread ${id}`);
    if (kept) threads.set(id, JSON.parse(kept));
  }
  return threads.get(id);
}

/** Show what the address says: a conversation of this tab, or a question that somebody else wrote down. */
function show(parameters) {
  const id = parameters.get("t"), thread = id ? found(id) : null;
  where.set(parameters.get("where") ?? "");
  method.set(parameters.get("method") ?? thread?.turns.at(-1)?.method ?? method.value);
  if (thread && thread.index === here.index) {
    if (shownThread !== thread) open(thread);
    note.hidden = true;
    return;
  }
  leave();
  shownThread = null;
  turns.replaceChildren();
  field.value = parameters.get("q") ?? "";
  note.hidden = !field.value;
  note.textContent = "This question came with the address. It has not been asked yet.";
  began();
  grow();
  if (field.value) button.focus();
  else if (matchMedia("(pointer: fine)").matches) field.focus({ preventScroll: true });
}
function leave() {
  running?.abort();
  running = null;
}
function open(thread) {
  leave();
  shownThread = thread;
  turns.replaceChildren();
  for (const turn of thread.turns) {
    const live = place(turn);
    if (turn.answer) live.finish(turn.answer);
  }
  field.value = "";
  began();
}
/** What depends on whether the conversation has begun. */
function began() {
  const begun = Boolean(shownThread?.turns.length);
  element.classList.toggle("begun", begun);
  field.placeholder = begun ? "Ask a follow-up question" : `Ask ${here.index}`;
  fresh.hidden = !begun;
  fresh.href = href("ask", { method: method.value });
  welcome.hidden = offers.hidden = begun;
  if (!begun) greet();
}

async function greet() {
  const name = here.index, facts = make("ul", { class: "facts" }), about = make("p", { class: "soft" }), offered = make("ul", { class: "offered", "aria-label": "Questions to begin with" }), topics = make("ul", { class: "chips", "aria-label": "What it is about" });
  welcome.replaceChildren(make("h2", {}, "Ask ", make("em", {}, spoken(name))), facts, about); // nothing moves when the rest comes
  offers.replaceChildren(offered, topics);
  const { status } = await known(name).catch(() => ({}));
  if (!status) return;
  const told = [["documents", "documents"], ["chunks", "passages"], ["entities", "entities"], ["reports", "reports"]].filter(([row]) => status.rows[row]);
  facts.append(...told.map(([row, title]) => make("li", {}, make("b", {}, number(status.rows[row])), ` ${status.rows[row] === 1 ? title.replace(/ies$/, "y").replace(/s$/, "") : title}`)));
  about.append(status.answers_with ? `Answers are written by ${shown(status.answers_with)}; every sentence names where it is from.` : "There is no language model here: answers are sentences of the documents, with the place where they stand.");
  const { rows } = await get(addressOf(name, "entities"), { limit: 100 }).catch(() => ({ rows: [] }));
  const names = rows.filter((each) => each.name.includes(" ") && !["CONCEPT", "DATE"].includes(each.type)).sort((a, b) => b.degree * b.frequency - a.degree * a.frequency).slice(0, 8);
  const [first] = names;
  const { neighbours = [] } = first?.degree ? await get(addressOf(name, `entities/${encodeURIComponent(first.id)}`), { limit: 10 }).catch(() => ({})) : {};
  const other = neighbours.find((each) => each.name !== first.name && /^\p{Lu}/u.test(each.name));
  const questions = [...names.slice(0, 2).map((each) => `Who or what is ${each.name}?`), other && `How are ${first.name} and ${other.name} connected?`, status.rows.reports && "What are the main themes?"].filter(Boolean);
  offered.append(...questions.slice(-3).map((each) => make("li", {}, make("button", { type: "button", onclick: () => ask(each) }, shown(each)))));
  topics.append(...names.map((each) => make("li", {}, make("a", { href: href("entities", { id: each.id }, name) }, spoken(each.name)))));
}

function place(turn) {
  const live = liveAnswer({ index: shownThread.index, ...turn });
  const compare = make("a", { class: "plain", href: href("compare", { q: turn.question, where: turn.where }) }, "Compare methods");
  turns.append(make("div", { class: "turn" }, make("h2", { dir: "auto", class: "question" }, shown(turn.question)), make("p", { class: "under" }, `${turn.method}${turn.where ? ` · where ${turn.where}` : ""} · `, compare), live.element));
  return live;
}

async function ask(question, again = null) {
  if (!question) {
    field.focus();
    return;
  }
  note.hidden = true;
  const thread = shownThread ?? { id: Math.random().toString(36).slice(2, 8), index: here.index, turns: [] };
  shownThread = thread;
  threads.set(thread.id, thread);
  const turn = { question, method: method.value, where: where.value };
  const before = thread.turns.filter((each) => each.answer);
  if (again) again.remove();
  thread.turns.push(turn);
  const live = place(turn);
  const row = turns.lastElementChild;
  began();
  go(href("ask", { t: thread.id, q: thread.turns[0].question, method: turn.method, where: turn.where }), { replace: thread.turns.length > 1 || here.parameters.get("q") === question });
  field.value = "";
  grow();
  const control = (running = new AbortController());
  button.textContent = "Stop";
  say("Answering");
  row.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  turn.answer = await live.follow({ drawing: room(turns), history: before.slice(-50).map(turnOf) }, control.signal, () => ask(question, row));
  if (turn.answer) {
    keep(thread);
    say(turn.answer.known ? `Answered from ${counted(turn.answer.citations.length + turn.answer.triples.length, "source")}.` : "Answered without a source.");
  } else {
    thread.turns.splice(thread.turns.indexOf(turn), 1); // what has no answer is not part of the conversation
    if (!control.signal.aborted && !field.value) field.value = question;
  }
  if (running !== control) return;
  running = null;
  button.textContent = "Ask";
}

const turnOf = ({ question, answer }) => ({
  question,
  answer: answer.text.slice(0, 50_000),
  short: answer.span.slice(0, 2000),
  standalone: answer.standalone.slice(0, 8000),
  citations: answer.citations.slice(0, 100).map(({ document_id, start, end }) => ({ document_id, start, end })),
});

export const askView = { element, show };
