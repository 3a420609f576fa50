// Where everything is: entities are packed into regions, regions into their parents, and these into the map (d3-hierarchy).
const GAP = 0.035, MARGIN = 0.05; // around a region, and between its rim and its content, as a share of its radius
const DOT_GAP = 0.22, LEAST_MARGIN = 0.5; // around an entity, and within a rim at least; 1 is an entity without neighbours
const AHEAD = 12, BEHIND = 3; // of the next in size, which has most ties to the last placed

/** The ties between the direct contents of each region: by -1 - row of an entity, or the row of a region. */
function tiesOfParts() {
  const ties = new Map(), above = (e) => [-1 - e, ...pathTo(regionOf[e]).reverse()];
  const tie = (one, other) => {
    if (!ties.has(one)) ties.set(one, new Map());
    ties.get(one).set(other, (ties.get(one).get(other) ?? 0) + 1);
  };
  relations.source.forEach((source, i) => {
    const one = above(source), other = above(relations.target[i]);
    while (one.length > 1 && other.length > 1 && one.at(-1) === other.at(-1)) {
      one.pop();
      other.pop();
    }
    tie(one.at(-1), other.at(-1));
    tie(other.at(-1), one.at(-1));
  });
  return ties;
}

/** Circles in the order in which they are packed: the largest first, of those of about one size what is tied to the last. */
function inOrder(circles, ties) {
  const left = circles.sort((a, b) => b.r - a.r || a.key - b.key), found = [];
  while (left.length) {
    const last = found.slice(-BEHIND), drawn = ({ key }) => last.reduce((sum, each) => sum + (ties.get(key)?.get(each.key) ?? 0), 0);
    const pulls = left.slice(0, AHEAD).map(drawn);
    found.push(...left.splice(pulls.indexOf(Math.max(...pulls)), 1));
  }
  return found;
}

/** Give each region and each entity its circle; return the radius of one around all of them at the origin. */
function layOut() {
  const ties = tiesOfParts();
  for (const table of [regions, entities]) for (const axis of ["x", "y", "r"]) table[axis] = new Float64Array(table.id.length);
  entities.degree.forEach((degree, e) => (entities.r[e] = Math.sqrt(1 + degree)));
  const pack = (below, first, own) => {
    const dots = Array.from({ length: own - first }, (_, i) => ({ key: -1 - first - i, r: entities.r[first + i] + DOT_GAP }));
    const circles = d3.packSiblings(inOrder([...below.map((r) => ({ key: r, r: regions.r[r] * (1 + GAP) })), ...dots], ties));
    for (const { key, x, y } of circles) {
      const [table, row] = key < 0 ? [entities, -1 - key] : [regions, key];
      [table.x[row], table.y[row]] = [x, y];
    }
    return circles.length ? d3.packEnclose(circles).r : 0;
  };
  for (let r = nRegions - 1; r >= 0; r--) { // what is inside a region comes after it
    const around = pack(children[r], regions.first[r], regions.own[r]);
    regions.r[r] = around + Math.max(LEAST_MARGIN, around * MARGIN);
  }
  const around = pack(roots, 0, 0);
  const move = (table, row, r) => {
    table.x[row] += regions.x[r];
    table.y[row] += regions.y[r];
  };
  for (let r = 0; r < nRegions; r++) { // so far, positions are relative to the middle of the parent
    if (regions.parent[r] >= 0) move(regions, r, regions.parent[r]);
    for (let e = regions.first[r]; e < regions.own[r]; e++) move(entities, e, r);
  }
  return around;
}

data.radius = layOut();
const largestDot = new Float32Array(nRegions), largestPart = new Float32Array(nRegions);
for (let r = 0; r < nRegions; r++) {
  for (let e = regions.first[r]; e < regions.own[r]; e++) largestDot[r] = Math.max(largestDot[r], entities.r[e]);
  for (const c of children[r]) largestPart[r] = Math.max(largestPart[r], regions.r[c]);
}
