// Search by name: what begins with the words first, then what has a word that does, then what holds them.
const query = document.getElementById("query"), results = document.getElementById("results"), noResult = document.getElementById("none");
const MOST = 40;
/** Without accents and case, so that "angstrom" finds "Ångström"; where all of a name is accents, they stay. */
const plainly = (text) => text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase() || text.toLowerCase();
let names = null;

/** Every name once folded, made when the first search begins. */
const searchable = () =>
  (names ??= [
    ...entities.name.map((name, e) => ({ key: plainly(name), entity: e, weight: entities.degree[e] })),
    ...Object.entries(entities.also).flatMap(([e, also]) => also.map((name) => ({ key: plainly(name), entity: Number(e), weight: entities.degree[e], name }))),
    ...regions.title.map((title, r) => ({ key: plainly(title), region: r, weight: regions.size[r] })),
  ]);

function search(text) {
  const wanted = plainly(text.trim());
  if (!wanted) return [];
  const found = [];
  for (const each of searchable()) {
    const place = each.key.indexOf(wanted);
    if (place < 0) continue;
    const begins = place === 0 || !/[\p{L}\p{N}]/u.test(each.key[place - 1]);
    const rank = each.key === wanted ? 0 : place === 0 ? 1 : begins ? 2 : 3;
    found.push([rank + (each.region === undefined ? 0 : 0.5), each]); // the title of a community names its entities
  }
  found.sort(([a, one], [b, other]) => a - b || other.weight - one.weight || one.key.length - other.key.length);
  return found.slice(0, MOST).map(([, each]) => each);
}

function tellResults() {
  const found = search(query.value);
  results.replaceChildren(...found.map((each) =>
    each.region !== undefined
      ? regionRow(each.region, `community ${levelName(regions.level[each.region])}`, close)
      : entityRow(each.entity, data.types[entities.type[each.entity]].toLowerCase(), close, each.name && `${each.name} (${entities.name[each.entity]})`)));
  results.hidden = !found.length;
  noResult.hidden = Boolean(found.length || !query.value.trim());
}
function close() {
  query.value = "";
  tellResults();
  told.focus({ preventScroll: true });
}

query.addEventListener("input", tellResults);
listKeys(query, results);
document.getElementById("search").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  if (query.value) close();
  else query.blur();
});
