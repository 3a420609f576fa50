// What stands while something is fetched, and where it fails.
import { make, shown } from "./dom.js";

/** What stands while something is fetched. */
export const waiting = (what) => make("p", { class: "waiting" }, make("span", { class: "spinner", "aria-hidden": "true" }), what);

const LONGEST_WAIT = 120; // seconds; nobody sits before a countdown of hours

/** A failure in words, with a way to try again; where the server said when, it counts down. */
export function failed(failure, again = null) {
  const box = make("div", { class: "failure", role: "alert" }, make("p", {}, make("strong", {}, failure.title), " ", shown(failure.message)));
  if (failure.request) box.append(make("p", { class: "soft" }, `Number of the request: ${failure.request}`));
  if (again && failure.wait <= LONGEST_WAIT) {
    const button = make("button", { type: "button", onclick: again }, "Try again");
    let left = failure.wait;
    const tick = () => {
      button.disabled = left > 0;
      button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
      if (left-- > 0 && (box.isConnected || left === failure.wait - 1)) setTimeout(tick, 1000);
    };
    tick();
    box.append(button);
  }
  return box;
}

/** Do something that a button asks for; where it fails, tell so in a place. */
export async function attempt(place, act, again = null) {
  try {
    await act();
  } catch (failure) {
    if (failure.title === undefined) throw failure;
    place.replaceChildren(failed(failure, again));
  }
}

/** Show what a promise gives in a place: words while it is fetched, its failure with a way to try again. */
export async function fill(place, what, fetch, render) {
  place.replaceChildren(waiting(what));
  const turn = (place.turn = (place.turn ?? 0) + 1);
  const put = (...content) => place.turn === turn && place.replaceChildren(...content.flat().filter((each) => each !== null));
  try {
    const found = await fetch();
    if (place.turn === turn) put(render(found));
  } catch (failure) {
    if (failure.name === "AbortError") return;
    if (failure.title === undefined) throw failure;
    put(failed(failure, () => fill(place, what, fetch, render)));
  }
}
