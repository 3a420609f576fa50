// Starts the page: the choice of the index, the views, and the way between them.
import { get, hasToken, loadRights, rights } from "./api.js";
import { begin, go, here, href, onMove } from "./address.js";
import { askView } from "./ask.js";
import { loadMethods } from "./choices.js";
import { compareView } from "./compare.js";
import { make, say } from "./dom.js";
import { showDrawer } from "./drawer.js";
import { entitiesView } from "./entities.js";
import { failed, waiting } from "./fetching.js";
import { conflictsView, documentsView, mapView, statusView } from "./lists.js";
import { manageView } from "./manage.js";
import { reportsView } from "./reports.js";

const VIEWS = {
  ask: ["Ask", askView], compare: ["Compare", compareView], entities: ["Entities", entitiesView], reports: ["Reports", reportsView],
  map: ["Map", mapView], documents: ["Documents", documentsView], conflicts: ["Conflicts", conflictsView], status: ["Status", statusView], manage: ["Manage", manageView],
};
const main = document.getElementById("main"), nav = document.getElementById("views"), select = document.getElementById("index");
let indexes = [];

function route(before) {
  if (!indexes.some((each) => each.name === here.index)) {
    const name = indexes[0].name;
    if (!here.index) return go(href("ask", {}, name), { replace: true });
    main.replaceChildren(make("section", { class: "view" }, make("h1", { tabindex: "-1" }, "There is no such index"), make("p", {}, "The address names an index that this server does not have, or that your token is not for. "), make("p", {}, make("a", { href: href("ask", {}, name) }, `Ask ${name}`))));
    return undefined;
  }
  const [title, view] = VIEWS[here.view] ?? VIEWS.ask;
  select.value = here.index;
  for (const [name, link] of links) {
    link.href = href(name, {});
    if (VIEWS[name]?.[1] === view) {
      link.setAttribute("aria-current", "page");
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
    } else link.removeAttribute("aria-current");
  }
  document.title = `${title} · ${here.index} · Conspectus`;
  const other = main.firstElementChild !== view.element;
  if (other) main.replaceChildren(view.element);
  view.show(here.parameters, before);
  showDrawer();
  if (other && before?.view && before.view !== here.view) {
    scrollTo(0, 0);
    view.element.querySelector("h1")?.focus({ preventScroll: true });
    say(title);
  }
  return undefined;
}

const links = Object.entries(VIEWS).map(([name, [title]]) => [name, make("a", { href: "#/" }, title)]);

async function start() {
  main.replaceChildren(waiting("Asking the server what it has …"));
  try {
    [indexes] = await Promise.all([get("/v1/indexes"), loadRights(), loadMethods()]);
    if (!rights.on) delete VIEWS.manage;
  } catch (failure) {
    if (failure.title === undefined) throw failure;
    main.replaceChildren(failed(failure, start));
    return;
  }
  if (!indexes.length) {
    main.replaceChildren(make("section", { class: "view" }, make("h1", {}, "Nothing to ask"), make("p", {}, "Your token is for none of the indexes that this server has.")));
    return;
  }
  const offer = () => nav.replaceChildren(...links.filter(([name]) => name !== "manage" || rights.administrator || (rights.on && !hasToken())).map(([, link]) => link));
  offer();
  addEventListener("rights", () => {
    offer();
    route();
  });
  select.replaceChildren(...indexes.map((each) => make("option", { value: each.name }, each.name)));
  select.parentElement.hidden = indexes.length < 2;
  select.addEventListener("change", () => go(href(here.view, {}, select.value)));
  onMove(route);
  begin();
  performance.mark("ready");
}
start();
