// What the page was given, and what follows from it.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const data = read("data-map");
const { regions, entities, relations } = data;
const nRegions = regions.id.length, nEntities = entities.id.length, nRelations = relations.source.length;
const ALONE = "alone";

let textsRead = null;
/** The texts, which are read when the first is wanted: the map is drawn before. */
const texts = () => (textsRead ??= read("data-texts"));

const children = Array.from({ length: nRegions }, () => []);
const roots = [];
const depthOf = new Int32Array(nRegions), rootOf = new Int32Array(nRegions), endOf = new Int32Array(nRegions);
for (let r = 0; r < nRegions; r++) {
  const above = regions.parent[r];
  (above < 0 ? roots : children[above]).push(r);
  depthOf[r] = above < 0 ? 0 : depthOf[above] + 1;
  rootOf[r] = above < 0 ? r : rootOf[above];
}
/** Regions stand in depth-first order: what is inside one are the rows after it, up to its end. */
for (let r = nRegions - 1; r >= 0; r--) {
  endOf[r] = Math.max(endOf[r], r + 1);
  const above = regions.parent[r];
  if (above >= 0) endOf[above] = Math.max(endOf[above], endOf[r]);
}
/** The level on which a region is divided, Infinity for one that never is. */
const dividedOn = children.map((parts) => Math.min(Infinity, ...parts.map((c) => regions.level[c])));
const regionOf = new Int32Array(nEntities);
for (let r = 0; r < nRegions; r++) regionOf.fill(r, regions.first[r], regions.own[r]);
const deepest = regions.level.reduce((most, level) => Math.max(most, level), 0);

/** The relations of each entity: `touching.rows` from `touching.from[e]` up to `touching.from[e + 1]`. */
const touching = (() => {
  const from = new Int32Array(nEntities + 1);
  const each = (visit) => {
    for (let i = 0; i < nRelations; i++) {
      visit(relations.source[i], i);
      if (relations.target[i] !== relations.source[i]) visit(relations.target[i], i);
    }
  };
  each((e) => from[e + 1]++);
  for (let e = 0; e < nEntities; e++) from[e + 1] += from[e];
  const next = from.slice(), rows = new Int32Array(from[nEntities]);
  each((e, i) => (rows[next[e]++] = i));
  return { from, rows };
})();
const relationsOf = (e) => Array.from(touching.rows.subarray(touching.from[e], touching.from[e + 1]));
const otherEnd = (i, e) => (relations.source[i] === e ? relations.target[i] : relations.source[i]);

/** The links of each entity that the documents' structure makes: rows of `data.links`. */
const { links } = data;
const linking = Array.from({ length: nEntities }, () => []);
links.source.forEach((e, i) => {
  linking[e].push(i);
  linking[links.target[i]].push(i);
});
const linkedEnd = (i, e) => (links.source[i] === e ? links.target[i] : links.source[i]);

/** The region of an entity on a level: of a community that is not divided that far, itself. */
function regionOn(e, level) {
  let r = regionOf[e];
  while (regions.level[r] > level && regions.parent[r] >= 0) r = regions.parent[r];
  return r;
}
const pathTo = (r) => {
  const path = [];
  for (; r >= 0; r = regions.parent[r]) path.unshift(r);
  return path;
};
const levelName = (level) => `C${level}`;
