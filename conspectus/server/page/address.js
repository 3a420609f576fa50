// Where the reader is: `#/INDEX/VIEW?parameters`. The part behind "#" is never sent to the server.

export const here = { index: "", view: "", parameters: new URLSearchParams() };
const listeners = [];

export function read() {
  const [, index = "", view = "", rest = ""] = /^#\/([^/?]*)\/?([^?]*)\??(.*)$/.exec(location.hash) ?? [];
  Object.assign(here, { index: decoded(index), view: view || "ask", parameters: new URLSearchParams(rest) });
  return here;
}
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** The address of a view; parameters that are empty are left out. */
export function href(view, parameters = {}, index = here.index) {
  const kept = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return `#/${encodeURIComponent(index)}/${view}${kept.size ? `?${kept}` : ""}`;
}

/** The address of the same view with some parameters changed. */
export const changed = (changes) => href(here.view, { ...Object.fromEntries(here.parameters), ...changes });

/** Go to an address; with `replace` the way back does not stop here. */
export function go(address, { replace = false } = {}) {
  if (address === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  moved();
}

export const onMove = (listener) => listeners.push(listener);
let last = "";
function moved() {
  if (last && location.hash === "#main") { // the link that skips to the content
    document.getElementById("main").focus();
    return history.replaceState(null, "", last);
  }
  last = location.hash || "#/";
  const before = { index: here.index, view: here.view };
  read();
  for (const listener of listeners) listener(before);
}
addEventListener("hashchange", moved);
addEventListener("popstate", () => location.hash !== last && moved());
export const begin = moved;
