// Search by name: what begins with the words first, then what has a word that does, then what holds them.
const query = document.getElementById("query"), results = document.getElementById("results");
const MOST = 40;
/** Without accents and case, so that "angstrom" finds "Ångström"; where all of a name is accents, they stay. */
const folded = (text) => text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase() || text.toLowerCase();
let names = null, chosen = -1;

/** Every name once folded, made when the first search begins. */
const searchable = () =>
  (names ??= [
    ...entities.name.map((name, e) => ({ key: folded(name), entity: e, weight: entities.degree[e] })),
    ...Object.entries(entities.also).flatMap(([e, also]) => also.map((name) => ({ key: folded(name), entity: Number(e), weight: entities.degree[e], name }))),
    ...regions.title.map((title, r) => ({ key: folded(title), region: r, weight: regions.size[r] })),
  ]);

function search(text) {
  const wanted = folded(text.trim());
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
  chosen = found.length ? 0 : -1;
  const rows = found.map((each, place) => {
    const community = each.region !== undefined;
    const row = make("li", { role: "option", id: `result-${place}`, "aria-selected": place === chosen ? "true" : "false" },
      dot(community ? rootColour(each.region) : dotColour(each.entity)),
      spoken(community ? regions.title[each.region] : each.name ? `${each.name} (${entities.name[each.entity]})` : entities.name[each.entity]),
      make("small", {}, community ? `community ${levelName(regions.level[each.region])}` : data.types[entities.type[each.entity]].toLowerCase()));
    row.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus until the click
    row.addEventListener("click", () => take(each));
    row.found = each;
    return row;
  });
  if (!rows.length && query.value.trim()) rows.push(make("li", { class: "none" }, "Nothing of that name"));
  results.replaceChildren(...rows);
  results.hidden = !rows.length;
  query.setAttribute("aria-expanded", String(!results.hidden));
  mark();
}

function mark() {
  [...results.children].forEach((row, place) => row.setAttribute("aria-selected", String(place === chosen)));
  const row = results.children[chosen];
  if (row && chosen >= 0) {
    query.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
  } else query.removeAttribute("aria-activedescendant");
}

function close() {
  results.hidden = true;
  query.setAttribute("aria-expanded", "false");
  query.removeAttribute("aria-activedescendant");
}

function take(each) {
  close();
  query.value = "";
  select(each.region !== undefined ? { region: each.region } : { entity: each.entity }, true);
  told.focus({ preventScroll: true });
}

query.addEventListener("input", tellResults);
query.addEventListener("focus", () => query.value && tellResults());
query.addEventListener("blur", close);
query.addEventListener("keydown", (event) => {
  const last = results.hidden ? -1 : results.querySelectorAll("[role=option]").length - 1;
  if (event.key === "ArrowDown" && last >= 0) chosen = chosen < last ? chosen + 1 : 0;
  else if (event.key === "ArrowUp" && last >= 0) chosen = chosen > 0 ? chosen - 1 : last;
  else if (event.key === "Enter" && chosen >= 0 && last >= 0) return take(results.children[chosen].found);
  else if (event.key === "Escape") {
    event.stopPropagation();
    if (query.value) query.value = "";
    else query.blur();
    return close();
  } else return;
  event.preventDefault();
  mark();
});
