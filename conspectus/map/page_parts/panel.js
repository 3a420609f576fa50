// The panel: what is selected, in words. Every text goes in as text, never as markup.
const told = document.getElementById("told"), crumbs = document.getElementById("crumbs");

const paragraph = (text, attributes = {}) => make("p", { dir: "auto", ...attributes }, text);
const section = (title, ...inside) => [make("h2", {}, title), ...inside.flat()];
const row = (what, colour, name, note, then) => make("li", {}, make("button", { onclick: () => {
  select(what, true);
  then?.();
} }, dot(colour), spoken(name), make("small", {}, note)));
const regionRow = (r, note, then) => row({ region: r }, rootColour(r), regions.title[r], note ?? counted(regions.size[r], "entity", "entities"), then);
const entityRow = (e, note, then, name = entities.name[e]) => row({ entity: e }, dotColour(e), name, note ?? counted(entities.degree[e], "neighbour"), then);
const fact = (n, one, many) => make("span", {}, make("b", {}, n.toLocaleString("en")), ` ${n === 1 ? one : many ?? `${one}s`}`);

function show(...inside) {
  told.replaceChildren(...inside.flat().filter((each) => each !== null), make("footer", {}, `Conspectus · version ${data.version} of the index · this page asks nobody for anything`));
  told.parentElement.scrollTop = 0;
}

function tellOverview() {
  const { documents, entities: n, relations: m, communities, reports } = data.counts;
  const numbers = [[documents, "document"], [n, "entity", "entities"], [m, "relation"], [communities, "community", "communities"], [reports, "report"]];
  const large = roots.filter((r) => regions.id[r] !== ALONE).sort((a, b) => regions.size[b] - regions.size[a]);
  show(
    make("p", { class: "kicker" }, "A map of an index"),
    make("h1", {}, spoken(data.title)),
    make("div", { class: "numbers" }, ...numbers.map(([count, one, many]) => make("div", {}, make("b", {}, count.toLocaleString("en")), count === 1 ? one : many ?? `${one}s`))),
    nEntities ? paragraph("Circles are communities: entities that belong together. The larger ones are divided into smaller ones. Dots are entities; the larger, the more others they have relations with.") : paragraph("There are no entities in this index, so there is nothing to map."),
    nEntities ? paragraph("Click a community for its report, a dot for what is known of it. Scroll to zoom, or search by name.") : null,
    data.notes.map(noted),
    large.length ? section("Largest communities", folded(large, 15, (r) => regionRow(r))) : null,
    nEntities ? section("Entities with most neighbours", folded(byDegree().slice(0, 60), 12, (e) => entityRow(e))) : null,
    data.cuts.map(noted),
  );
}
const noted = (note) => make("p", { class: "note" }, `${note}.`);
const byDegree = () => Array.from({ length: nEntities }, (_, e) => e).sort((a, b) => entities.degree[b] - entities.degree[a] || a - b);

function tellCitation(citation, explained) {
  const { documents } = texts();
  const place = `${citation.place ? `${citation.place}, ` : ""}characters ${citation.start.toLocaleString("en")}–${citation.end.toLocaleString("en")}`;
  const title = documents.title[citation.document], uri = documents.uri[citation.document];
  const source = make("cite", { title: uri }, spoken(title), ` · ${place}`);
  if (citation.quote === null && explained) return source;
  return make("blockquote", {}, citation.quote ? make("q", { dir: "auto" }, citation.quote) : "", source);
}

function tellFinding(finding) {
  const same = finding.citations.find((each) => each.quote === null);
  const said = same ? make("blockquote", {}, make("q", { dir: "auto" }, finding.explanation), tellCitation(same, true)) : finding.explanation ? paragraph(finding.explanation) : null;
  return [
    finding.summary ? make("h3", {}, spoken(finding.summary)) : null,
    said,
    ...finding.citations.filter((each) => each !== same).map((each) => tellCitation(each, false)),
    finding.more ? make("p", { class: "source" }, `and ${counted(finding.more, "more citation")}`) : null,
  ];
}

function tellRegion(r) {
  const report = texts().reports[r], alone = regions.id[r] === ALONE, drawn = regions.last[r] - regions.first[r];
  const within = Array.from({ length: drawn }, (_, i) => regions.first[r] + i).sort((a, b) => entities.degree[b] - entities.degree[a] || a - b);
  const beside = neighbours(r), linked = linkedRegions(r);
  show(
    make("p", { class: "kicker" }, dot(rootColour(r)), alone ? "Entities" : `Community · level ${levelName(regions.level[r])}`),
    make("h1", {}, spoken(regions.title[r])),
    make("p", { class: "facts" }, fact(regions.size[r], "entity", "entities"), children[r].length ? fact(children[r].length, "part") : "", report ? make("span", {}, "rating ", make("b", {}, report.rating.toFixed(1))) : ""),
    report ? null : paragraph(alone ? "No community of several entities holds these." : "There is no report on this community.", { class: "note" }),
    report?.summary && !report.findings.some((each) => each.explanation === report.summary) ? paragraph(report.summary, { class: "lead" }) : null,
    report?.findings.length ? section("Findings", report.findings.flatMap(tellFinding)) : null,
    report?.more ? make("p", { class: "source" }, `and ${counted(report.more, "more finding")}`) : null,
    children[r].length ? section("Parts", folded(children[r], 12, (c) => regionRow(c))) : null,
    within.length ? section("Entities", folded(within, 12, (e) => entityRow(e))) : null,
    drawn < regions.size[r] ? make("p", { class: "note" }, `${drawn.toLocaleString("en")} of its ${counted(regions.size[r], "entity", "entities")} are on the map.`) : null,
    beside.length ? section("Related communities", folded(beside, 8, ([other, weight]) => regionRow(other, counted(weight, "relation")))) : null,
    linked.length ? section("Linked by the documents", folded(linked, 8, ([other, count]) => regionRow(other, counted(count, "link")))) : null,
  );
}

function tellRelation(i, e) {
  const other = otherEnd(i, e), sentence = texts().sentences[i];
  const end = (row) => spoken(entities.name[row], { class: row === e ? "self" : null });
  const said = make("span", {}, end(relations.source[i]), " ", make("i", { dir: "auto" }, data.predicates[relations.predicate[i]]), " ", end(relations.target[i]));
  return make("li", {}, make("button", { onclick: () => select({ entity: other }, true) }, dot(dotColour(other)), said), sentence ? paragraph(sentence) : null);
}

function tellEntity(e) {
  const { descriptions, documentsOf, documents } = texts();
  const found = relationsOf(e).sort((a, b) => relations.weight[b] - relations.weight[a] || entities.degree[otherEnd(b, e)] - entities.degree[otherEnd(a, e)] || a - b);
  const [more, ...named] = documentsOf[e];
  show(
    make("p", { class: "kicker" }, dot(dotColour(e)), spoken(data.types[entities.type[e]] || "entity")),
    make("h1", {}, spoken(entities.name[e])),
    make("p", { class: "facts" }, fact(entities.degree[e], "neighbour"), fact(found.length, "relation"), entities.frequency[e] ? make("span", {}, "in ", make("b", {}, entities.frequency[e].toLocaleString("en")), entities.frequency[e] === 1 ? " passage" : " passages") : ""),
    entities.also[e] ? make("p", {}, "Also called ", ...entities.also[e].flatMap((name, place) => [place ? ", " : "", spoken(name)]), ".") : null,
    descriptions[e] ? paragraph(descriptions[e], { class: "lead" }) : null,
    section("Communities", make("ul", {}, ...pathTo(regionOf[e]).map((r) => regionRow(r, regions.id[r] === ALONE ? undefined : levelName(regions.level[r]))))),
    found.length ? section("Relations", folded(found, 25, (i) => tellRelation(i, e))) : null,
    linking[e].length ? section("Linked by the documents", folded(linking[e], 8, (i) => entityRow(linkedEnd(i, e), data.linkKinds[links.kind[i]]))) : null,
    named.length ? section("Documents", make("ul", {}, ...named.map((d) => make("li", { title: documents.uri[d] }, spoken(documents.title[d])))), more ? make("p", { class: "source" }, `and ${counted(more, "more document")}`) : null) : null,
  );
}

/** The way here: the first and the last steps, and of those between only that there are some. */
function tellCrumbs() {
  const path = state.entity >= 0 ? pathTo(regionOf[state.entity]) : pathTo(state.region);
  if (!path.length) return crumbs.replaceChildren();
  const link = (text, title, what, here = false) => make("button", { onclick: () => select(what, true), "aria-current": here ? "location" : null, title }, spoken(text));
  const last = path.length - 1;
  const steps = path.map((r, place) => {
    const title = regions.title[r];
    if (place === 0 || place === last) return link(title, title, { region: r }, state.entity < 0 && place === last);
    return place === last - 1 ? link(path.length > 3 ? "…" : title, title, { region: r }) : path.length > 3 ? null : link(title, title, { region: r });
  });
  steps.unshift(link("Everything", "The whole map", {}));
  if (state.entity >= 0) steps.push(link(entities.name[state.entity], entities.name[state.entity], { entity: state.entity }, true));
  crumbs.replaceChildren(...steps.filter((step) => step).flatMap((step, place) => (place ? [make("span", { "aria-hidden": "true" }, "›"), step] : [step])));
}
