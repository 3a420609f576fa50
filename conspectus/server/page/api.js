// What the page asks the server, and how it fails. The token stays in this tab.
import { make } from "./dom.js";

const KEPT = "conspectus token";
const TITLES = {
  400: "This cannot be asked.", 403: "Not permitted.", 404: "Not found.", 413: "Too long.", 422: "This cannot be asked.",
  409: "Not now.", 415: "Not taken.", 429: "Too many questions.", 501: "Not possible here.", 502: "The language model failed.", 503: "Not available now.", 504: "It took too long.",
};

const KINDS = { connection_lost: "The connection was lost.", too_busy: "The server is busy.", money_spent: "No more today.", budget_reached: "The budget is used up.", bad_name: "The name cannot be used.", too_large: "Too large.", too_many_files: "Too many files.", no_space: "No space.", changed: "Something else waits now." };

/** Why something is not there: `title` and `message` for the reader, `wait` in seconds before it makes sense to try again. */
export class Failure extends Error {
  constructor(status, kind, message, wait = 0, request = "") {
    super(message ? `${message[0].toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}` : "");
    Object.assign(this, { name: "Failure", status, kind, wait, request });
    this.title = KINDS[kind] ?? TITLES[status] ?? "Something went wrong.";
  }
}
const lost = (message) => new Failure(0, "connection_lost", message);

const dialog = document.getElementById("token"), field = document.getElementById("token-field"), wrong = document.getElementById("token-wrong");
let asking = null;
/** Ask the reader for a token, once however many requests wait for it; say so if the one before was `refused`. */
function tokenAsked(refused) {
  asking ??= new Promise((done) => {
    field.value = "";
    wrong.hidden = !refused;
    dialog.showModal();
    dialog.addEventListener("close", () => {
      if (field.value.trim()) sessionStorage.setItem(KEPT, field.value.trim());
      field.value = "";
      asking = null;
      done();
    }, { once: true });
  });
  return asking;
}
dialog.addEventListener("cancel", (event) => event.preventDefault()); // without a token there is nothing to see
export const hasToken = () => sessionStorage.getItem(KEPT) !== null;
export function forgetToken() {
  sessionStorage.clear();
  location.reload();
}

/** Whether this server can be administered (`on`), and whether the token is the administrator's. */
export const rights = { on: false, administrator: false };
export const loadRights = async () => Object.assign(rights, await get("/v1/administration"));
/** A form for the administrator's token. */
export function signIn() {
  const secret = make("input", { type: "password", id: "admin-token", autocomplete: "off", spellcheck: "false", required: true }), told = make("p", { class: "failure", role: "alert", hidden: true }, "This is not the administrator's token of this server.");
  return make("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const given = secret.value.trim(), response = await fetch("/v1/administration", { headers: { authorization: `Bearer ${given}` }, credentials: "omit" }).catch(() => null);
    if (!response?.ok || !(await response.json()).administrator) return void (told.hidden = false);
    sessionStorage.setItem(KEPT, given);
    await loadRights();
    dispatchEvent(new Event("rights"));
  } }, make("label", { for: "admin-token" }, "The administrator's token"), secret, told, make("p", { class: "soft" }, "It is kept in this tab until the tab is closed, and sent to this server only."), make("p", {}, make("button", { class: "primary" }, "Use it")));
}

async function sent(path, options = {}) {
  const token = sessionStorage.getItem(KEPT);
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw lost("the server does not answer; it may have been stopped");
  }
  if (response.status === 401) {
    if (sessionStorage.getItem(KEPT) === token) sessionStorage.removeItem(KEPT);
    await tokenAsked(token !== null);
    return sent(path, options);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const { error = {} } = await response.json().catch(() => ({}));
  return failure(response.status, error, Number(response.headers.get("retry-after") ?? 0));
}
const failure = (status, error, wait = 0) => new Failure(status, error.type ?? "internal_error", error.message ?? "the server gave no reason", wait, status >= 500 || status === 0 ? error.request_id : "");

export const addressOf = (index, rest, version = "") => `/v1/indexes/${encodeURIComponent(index)}/${version ? `versions/${version}/` : ""}${rest}`;
/** An id in a path. Browsers leave out parts that are only dots, so such an id has a slash, which the server leaves out. */
export const pathOf = (id) => encodeURIComponent(id).replace(/^\.{1,2}$/, "$&%2F");

async function whole(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw lost("the answer ended too early");
  }
}

/** The JSON at an address; parameters that are empty are left out. */
export async function get(path, parameters = {}, signal = undefined) {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().filter((each) => each !== "" && each !== null && each !== undefined).map((each) => [name, each]));
  return whole(await sent(pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path, { signal }));
}

/** Send a request that changes something; the JSON that it returns, null where there is none. */
export async function send(method, path, body = null, signal = undefined) {
  const isFile = body instanceof Blob;
  const headers = body === null ? {} : { "content-type": isFile ? "application/octet-stream" : "application/json" };
  const response = await sent(path, { method, headers, signal, body: body === null || isFile ? body : JSON.stringify(body) });
  return response.status === 204 ? null : whole(response);
}

/** A job as it goes on, until it has ended. */
export async function* follow(path, signal) {
  for await (const [, job] of eventsOf(await sent(path, { signal, headers: { accept: "text/event-stream" } }))) {
    yield job;
    if (job.state !== "running") return;
  }
}

/** The events of an answer as pairs of name and data, the last one "answer". Throws a Failure where it does not end so. */
export async function* events(path, body, signal) {
  for await (const event of eventsOf(await sent(path, { method: "POST", body: JSON.stringify({ ...body, stream: true }), signal, headers: { "content-type": "application/json", accept: "text/event-stream" } }))) {
    yield event;
    if (event[0] === "answer") return;
  }
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw lost("what was told was cut off");
    }
    if (part.done) throw lost("what was told was cut off");
    held += part.value;
    const blocks = held.split("\n\n");
    held = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1], data = /^data: (.*)$/m.exec(block)?.[1];
      if (!name) continue; // a comment that keeps the connection open
      const value = JSON.parse(data);
      if (name === "error") throw failure({ budget_reached: 503, model_failed: 502, misconfigured: 501, needs_model: 501, too_long: 504 }[value.error.type] ?? 500, value.error);
      yield [name, value];
    }
  }
}
