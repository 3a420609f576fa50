// Add and remove documents, see what a build will cost, and build: for whoever has the administrator's token.
import { addressOf, follow, get, pathOf, rights, send, signIn } from "./api.js";
import { here, href } from "./address.js";
import { forgetKnown } from "./choices.js";
import { counted, make, number, say, shown, spoken } from "./dom.js";
import { attempt as tried, failed } from "./fetching.js";
import { table } from "./lists.js";

const STATES = { running: "runs", done: "done", failed: "failed", stopped: "stopped", interrupted: "interrupted, because the server ended" };
const KINDS = { estimate: "Estimate", estimate_retry: "Estimate of trying again", build: "Build", retry: "Try again what failed", update: "Update to the folder" };
const LOOK_EVERY = 2000; // milliseconds until the page looks again whether a folder that is followed has begun an update
const VERSION_WAIT = 30; // seconds until the page no longer waits for the server to serve what was published

const gate = make("div", {}), desk = make("div", { class: "desk", hidden: true });
const element = make("section", { class: "view", id: "view-manage", "aria-label": "Manage" }, make("h1", { tabindex: "-1" }, "Manage"), gate, desk);
const path = (rest) => addressOf(here.index, rest);
const button = (text, act, attributes = {}) => make("button", { type: "button", onclick: act, ...attributes }, text);
const size = (bytes) => (bytes < 1000 ? counted(bytes, "byte") : bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
let limits = null, waiting = null, following = null, looking = 0, latest = "";

/** Do something that a button asks for; tell below the buttons where it fails. */
function attempt(act) {
  told.replaceChildren();
  return tried(told, act);
}

// Uploads

const chosen = make("input", { type: "file", id: "files", class: "unseen", multiple: true, onchange: () => upload([...chosen.files]) });
const allowed = make("p", { class: "soft" }), arriving = make("ul", { class: "arriving", role: "status" });
const drop = make("div", { class: "drop" }, make("p", {}, make("label", { for: "files", class: "button primary" }, "Choose files"), " or drop them here"), chosen, allowed);
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => { // a file that is dropped beside the field would be opened instead of the page
    if (!element.isConnected) return;
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover" && drop.contains(event.target));
    if (kind === "drop" && drop.contains(event.target)) dropped(event.dataTransfer);
  });
}

function dropped(transfer) {
  const files = [...transfer.items].filter((each) => each.kind === "file"), folders = files.filter((each) => each.webkitGetAsEntry()?.isDirectory);
  arriving.replaceChildren();
  if (folders.length) arriving.append(make("li", { class: "lost" }, "Folders are not taken: choose their files, or pack them as .zip."));
  upload(files.filter((each) => !folders.includes(each)).map((each) => each.getAsFile()), true);
}

async function upload(files, goOn = false) {
  if (!goOn) arriving.replaceChildren();
  for (const [place, file] of files.entries()) {
    const row = make("li", {}, make("span", { class: "spinner", "aria-hidden": "true" }), ` ${place + 1} of ${files.length}: `, spoken(file.name));
    arriving.append(row);
    try {
      if (file.size > (limits?.file_bytes ?? Infinity)) throw { title: "Too large.", message: `A file may have ${size(limits.file_bytes)}.` };
      await send("PUT", path(`uploads/${encodeURIComponent(file.name)}`), file);
      row.remove();
    } catch (failure) {
      if (failure.title === undefined) throw failure;
      row.className = "lost";
      row.replaceChildren(make("b", {}, spoken(file.name)), `: ${failure.title} `, shown(failure.message));
    }
  }
  chosen.value = "";
  await showWaiting();
  say(`${counted(waiting.uploads.length, "file")} to be added.`);
}

// What waits, its estimate, and the build

const problem = make("p", { class: "doubts", role: "alert", hidden: true }), list = make("div", { id: "waiting" }), price = make("div", { id: "price" }), told = make("div", {}), actions = make("p", { class: "row" }), progress = make("div", { id: "progress" });

async function showWaiting() {
  const found = await get(path("changes"));
  [waiting, limits] = [found, found.limits];
  allowed.textContent = `Up to ${size(limits.file_bytes)} each: ${limits.formats.join(" ")} and source code. Files of one name replace each other.`;
  const back = (where, id, name, word) => button(word, () => attempt(async () => {
    await send("DELETE", path(`${where}/${pathOf(id)}`));
    await showWaiting();
    list.querySelector("button, [tabindex]")?.focus();
  }), { class: "plain", "aria-label": `${word}: ${name}` });
  const rows = [
    ...found.uploads.map((each) => make("tr", {}, make("td", {}, "add"), make("td", {}, spoken(each.name)), make("td", {}, size(each.bytes)), make("td", {}, back("uploads", each.name, each.name, "Take back")))),
    ...found.removals.map((each) => make("tr", {}, make("td", {}, "remove"), make("td", {}, spoken(each.title), make("small", {}, spoken(each.uri))), make("td", {}), make("td", {}, back("removals", each.id, each.title, "Keep")))),
  ];
  problem.textContent = found.problem && `Documents cannot be added or removed: ${found.problem}.`;
  problem.hidden = !found.problem;
  list.replaceChildren(rows.length ? table(["", "Document", "Size", ""], make("tbody", {}, ...rows)) : make("p", { class: "soft" }, "Nothing waits. Add files above, or choose what to remove in ", make("a", { href: href("documents") }, "Documents"), "."));
  showFolder(found.following);
  await showJobs();
}

// The folder that is followed

const folder = make("div", { id: "folder" });

function showFolder(state) {
  clearInterval(looking);
  if (!state) return folder.replaceChildren();
  const turn = () => attempt(async () => {
    await send(state.on ? "DELETE" : "PUT", path("following"));
    say(state.on ? "The folder is no longer followed." : "The folder is followed.");
    await showWaiting();
  });
  const had = folder.contains(document.activeElement);
  const about = state.on ? " is followed: changes of its files become part of the index within seconds." : " is not followed. If it is, changes of its files become part of the index within seconds, without an estimate.";
  folder.replaceChildren(make("p", {}, "The folder ", make("b", {}, spoken(state.folder)), about), make("p", {}, button(state.on ? "Follow it no longer" : "Follow the folder", turn, { id: "follow" })));
  if (had) folder.querySelector("button").focus();
  if (state.problem) folder.append(make("p", { class: "doubts" }, shown(state.problem), "."));
  if (state.on) looking = setInterval(async () => {
    if (!element.isConnected) return clearInterval(looking);
    const [job] = await get(path("jobs")).catch(() => []);
    if (job && job.id !== latest && !following) attempt(showWaiting);
  }, LOOK_EVERY);
}

function offer(jobs) {
  const runs = jobs.find((job) => job.state === "running"), any = waiting.uploads.length + waiting.removals.length;
  const estimate = jobs.find((job) => job.kind === "estimate" && job.state === "done" && job.changes === waiting.changes);
  price.replaceChildren(...(estimate && any ? costs(estimate.result) : []));
  actions.replaceChildren();
  if (runs && !any) list.replaceChildren();
  if (!any || runs) return;
  if (!estimate) actions.append(button("Estimate the cost", () => attempt(() => start("estimate")), { class: "primary", id: "estimate" }));
  else actions.append(button("Build the index", () => attempt(() => start("build")), { class: "primary", id: "build" }));
}

/** What a build will take, in words and as the command line prints it. */
function costs({ total, text, warnings, unchanged }) {
  const dollars = (cost) => (cost === null ? "an unknown price (see llm.prices)" : `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`);
  const words = unchanged ? "Nothing would change." : !total.calls ? "No model is asked for anything new: it costs nothing." : `${number(total.calls)} calls to models, ${number(total.prompt_tokens + total.completion_tokens)} tokens, ${dollars(total.cost)} (from ${dollars(total.low.cost)} to ${dollars(total.high.cost)}), and ${counted(Math.max(Math.round(total.seconds / 60), 1), "minute")} of waiting for them.`;
  return [make("p", { class: "lead" }, words), ...warnings.map((each) => make("p", { class: "doubts" }, shown(each))), make("details", {}, make("summary", {}, "Step by step"), make("pre", { tabindex: "0" }, shown(text)))];
}

async function start(kind) {
  const job = await send("POST", path("jobs"), kind.endsWith("retry") ? { kind } : { kind, changes: waiting.changes });
  say(`${KINDS[kind]} has begun.`);
  await showWaiting();
  return job;
}

/** Show a job as it goes on, until it has ended. */
async function watch(job) {
  if (following?.id === job.id) return;
  stopFollowing();
  const mine = (following = { id: job.id, index: here.index, gone: new AbortController() });
  try {
    for await (const now of follow(path(`jobs/${job.id}/events`), mine.gone.signal)) {
      showProgress(now);
      job = now;
    }
  } catch (failure) {
    if (failure.name === "AbortError") return;
    if (failure.title === undefined) throw failure;
    progress.replaceChildren(failed(failure, () => attempt(showWaiting)));
    return;
  } finally {
    if (following === mine) following = null;
  }
  progress.replaceChildren();
  say(`${KINDS[job.kind]}: ${STATES[job.state]}.`);
  if (job.state === "done" && job.result.version) await served(job.result.version);
  await attempt(showWaiting);
  if (job.error) told.replaceChildren(failed({ title: `${KINDS[job.kind]}: ${STATES[job.state]}.`, message: `${job.error.message}. ${/^(estimate|update)/.test(job.kind) ? "" : "What it was to change waits again."}` }));
  keepFocus(actions.querySelector("button"));
}
/** Put the focus where one goes on, if what had it is gone. */
function keepFocus(button) {
  if (document.activeElement === document.body) button?.focus({ preventScroll: true });
}
function stopFollowing() {
  following?.gone.abort();
  following = null;
}

/** Wait until the server answers from a version. */
async function served(version) {
  const index = here.index;
  for (let left = VERSION_WAIT * 2; left > 0; left--) {
    const rows = await get("/v1/indexes").catch(() => []);
    if (rows.find((each) => each.name === index)?.version === version) break;
    await new Promise((done) => setTimeout(done, 500));
  }
  forgetKnown(index);
}

let spokenStep = "";
function showProgress(job) {
  const last = job.steps.at(-1), bar = (step) => make("progress", { max: step.total || 1, value: step.total ? step.done : null, "aria-label": step.name });
  if (last && last.name !== spokenStep) say((spokenStep = last.name));
  const counts = (step) => (step.total > 1 ? `${number(step.done)} of ${number(step.total)}` : step.total ? "done" : "…");
  if (progress.dataset.job !== job.id || !progress.querySelector("ol")) {
    const stop = button("Stop", () => attempt(async () => {
      stop.disabled = true;
      await send("POST", path(`jobs/${job.id}/stop`));
    }), { id: "stop" });
    progress.dataset.job = job.id;
    progress.replaceChildren(make("p", { class: "row" }, make("span", { class: "spinner", "aria-hidden": "true" }), make("b", {}, KINDS[job.kind]), stop), make("ol", { class: "job-steps" }));
    keepFocus(stop);
  }
  progress.querySelector("ol").replaceChildren(...job.steps.map((step) => make("li", {}, make("span", {}, shown(step.name)), bar(step), make("small", {}, counts(step)))));
}

// Jobs

const jobList = make("div", { id: "jobs" }), retries = make("div", { id: "retries" });

async function showJobs() {
  const jobs = await get(path("jobs"));
  latest = jobs[0]?.id ?? "";
  const runs = jobs.find((job) => job.state === "running");
  const past = jobs.filter((job) => job.state !== "running" && !(job.kind.startsWith("estimate") && job.state === "done"));
  jobList.replaceChildren(past.length ? make("ol", { class: "jobs" }, ...past.map(jobRow)) : make("p", { class: "soft" }, "No build has been started here yet."));
  offer(jobs);
  await offerRetry(jobs, Boolean(runs));
  if (runs) watch(runs);
}

async function offerRetry(jobs, busy) {
  const { total, rows } = await get(path("failures"), { limit: 500 }), again = rows.some((each) => !["read", "skip", "kg", "import"].includes(each.stage));
  const estimate = jobs.find((job) => job.kind === "estimate_retry" && job.state === "done");
  const about = make("p", {}, `${counted(total, "row")} of the index ${total === 1 ? "says" : "say"} what was lost when it was made: `, make("a", { href: href("status") }, "see Status"), ". What a model failed to give can be asked for again; a file that could not be read has to be repaired and added again.");
  const act = estimate ? button("Try again what failed", () => attempt(() => start("retry")), { id: "retry" }) : button("Estimate trying again", () => attempt(() => start("estimate_retry")), { id: "estimate-retry" });
  retries.replaceChildren(...(total ? [about, ...(estimate ? costs(estimate.result) : []), make("p", {}, busy || !again ? null : act)] : []));
}

/** A button that has the next build forget a file that could not be read. */
const forget = (lost) => button("Forget it", () => attempt(async () => {
  await send("PUT", path(`removals/${pathOf(lost.item_id)}`));
  await showWaiting();
}), { class: "link", "aria-label": `Forget ${lost.item_id}` });

function jobRow(job) {
  const when = new Date(job.created * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
  const what = [job.uploads.length && `${counted(job.uploads.length, "file")} to add`, job.removals.length && `${counted(job.removals.length, "document")} to remove`].filter(Boolean).join(", ");
  const unread = job.result?.unread ?? [];
  return make("li", { class: job.state }, make("h3", {}, `${KINDS[job.kind]}: ${STATES[job.state]}`), make("p", { class: "soft" }, `${when}${what ? ` · ${what}` : ""}`),
    job.error ? make("p", {}, shown(job.error.message), ".") : null, ...job.notes.map((each) => make("p", { class: "doubts" }, shown(each))),
    unread.length ? make("ul", { class: "doubts" }, ...unread.map((each) => make("li", {}, spoken(each.item_id), `: ${shown(each.reason)}`, each.detail ? make("small", {}, ` ${shown(each.detail)}`) : null, " ", forget(each)))) : null,
    job.result?.text ? make("pre", { tabindex: "0" }, shown(job.result.text)) : null);
}

desk.append(
  problem,
  make("section", { "aria-labelledby": "add" }, make("h2", { id: "add" }, "Add documents"), drop, arriving, folder),
  make("section", { "aria-labelledby": "next" }, make("h2", { id: "next" }, "Next build"), list, price, actions, told, progress),
  make("section", { "aria-labelledby": "past" }, make("h2", { id: "past" }, "Builds"), retries, jobList),
);

export const manageView = {
  element,
  show() {
    stopFollowing();
    desk.hidden = !rights.administrator;
    progress.replaceChildren();
    arriving.replaceChildren();
    gate.replaceChildren(...(rights.administrator ? [] : [make("p", {}, "Documents are added and removed by whoever has the administrator's token of this server."), signIn()]));
    if (rights.administrator) attempt(showWaiting);
  },
};
