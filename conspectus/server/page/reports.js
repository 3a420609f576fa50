// Reports on communities, as the tree that they form; one with its findings and what they cite.
import { addressOf, get } from "./api.js";
import { prose } from "./answer.js";
import { changed, here } from "./address.js";
import { counted, cut, make, setCurrent, shown, spoken } from "./dom.js";
import { openSource } from "./drawer.js";
import { fill } from "./fetching.js";

const tree = make("div", { class: "side tree" });
const detail = make("div", { class: "detail", tabindex: "-1" });
const element = make("section", { class: "view split", id: "view-reports", "aria-label": "Reports" }, make("h1", { tabindex: "-1" }, "Reports"), tree, detail);
let listed = "", told = "", byId = new Map();

async function all() {
  const rows = [];
  let page = await get(addressOf(here.index, "reports"), { limit: 1000 });
  for (;;) {
    rows.push(...page.rows);
    if (!page.next) return rows;
    page = await get(page.next);
  }
}

async function show(parameters) {
  const id = parameters.get("id") ?? "";
  element.classList.toggle("chosen", Boolean(id));
  if (listed !== here.index) {
    listed = here.index;
    fill(tree, "Fetching the reports …", all, (rows) => {
      byId = new Map(rows.map((row) => [row.community_id, row]));
      mark(here.parameters.get("id"));
      if (!rows.length) return make("p", { class: "soft" }, "This index has no reports. They are made with: conspectus index … --set reports.enabled=true");
      return [make("p", { class: "soft" }, `${counted(rows.length, "report")}, the coarsest first, each above what it is divided into`), make("ul", {}, ...rows.filter((row) => !byId.has(row.parent)).map((row) => branch(row, here.parameters.get("id"))))];
    });
  } else mark(id);
  if (told === `${here.index} ${id}`) return;
  told = `${here.index} ${id}`;
  if (id) fill(detail, "Opening the report …", () => get(addressOf(here.index, `reports/${encodeURIComponent(id)}`)), about);
  else detail.replaceChildren(make("p", { class: "soft empty" }, "Choose a report. Each is on a community: entities that belong together."));
}

/** A report with what it is divided into, made when it is first unfolded. */
function branch(row, wanted) {
  const link = make("a", { href: changed({ id: row.community_id, doc: null, span: null }), "data-id": row.community_id, "aria-current": row.community_id === wanted && "true" }, spoken(cut(row.title, 110)), make("small", { class: "count", title: "entities" }, row.size.toLocaleString("en")));
  if (!row.children.length) return make("li", {}, link);
  const inside = make("ul", {}), parts = row.children.map((id) => byId.get(id)).filter(Boolean);
  const fold = make("details", { open: parts.some((each) => holds(each, wanted)), ontoggle: () => fold.open && inside.children.length === 0 && inside.append(...parts.map((each) => branch(each, wanted))) }, make("summary", { "aria-label": `Parts of ${cut(shown(row.title), 60)}` }, counted(parts.length, "part")), inside);
  return make("li", {}, link, fold);
}
const holds = (row, wanted) => row.community_id === wanted || row.children.some((id) => byId.has(id) && holds(byId.get(id), wanted));
const mark = (id) => setCurrent(tree.querySelectorAll("a"), (link) => link.dataset.id === id);

function about(report) {
  const sources = new Map(report.citations.map((each) => [each.number, each]));
  const about = { index: here.index, citations: report.citations };
  const link = (id) => make("li", {}, make("a", { href: changed({ id, doc: null, span: null }) }, spoken(byId.get(id)?.title ?? id)));
  const mark = (found) => {
    const source = sources.get(found);
    return source ? make("button", { type: "button", class: "mark", "aria-label": `Source ${found}: ${cut(shown(source.title), 80)}`, title: cut(shown(source.quote), 300), onclick: (event) => openSource(source, about, event.currentTarget) }, String(found)) : make("sup", { class: "mark" }, String(found));
  };
  return [
    make("p", { class: "narrow-only" }, make("a", { href: changed({ id: null }) }, "← All reports")),
    make("p", { class: "kicker" }, `Level c${report.level} · ${counted(report.size, "entity", "entities")} · importance ${report.rating.toFixed(1)} of 10`),
    make("h2", {}, spoken(report.title)),
    report.findings.some((each) => each.includes(report.summary)) ? null : make("p", { class: "lead", dir: "auto" }, shown(report.summary)),
    make("div", { class: "findings text" }, ...report.findings.map((finding) => make("section", {}, ...prose(finding, mark)))),
    report.parent ? make("section", {}, make("h3", {}, "Part of"), make("ul", { class: "chips" }, link(report.parent))) : null,
    report.children.length ? make("section", {}, make("h3", {}, "Divided into"), make("ul", { class: "chips" }, ...report.children.map(link))) : null,
  ];
}

export const reportsView = { element, show };
