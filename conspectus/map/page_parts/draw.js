// One frame: grounds of the regions, lines of what is selected, dots of the entities, names.
const FADE_FROM = 3, FADE_TO = 9; // pixels of radius between which a region inside another appears
const state = {
  region: -1, // what is selected: a region or an entity, or neither
  entity: -1,
  over: null, // what the pointer is over: {region} or {entity}
  level: "auto", // or the number of a level
  type: -1, // the type that is told apart, -1 for none
  near: new Set(), // entities that the selected one has relations with
  lines: [], // lines of the selection: {from, to, weight, dashed}, each end a circle {x, y, r}
};
const frame = { regions: [], dots: [], drawn: 0 };

const onScreen = (x, y, r) => x + r > 0 && x - r < width && y + r > 0 && y - r < height;
const drawnOn = (r) => state.level === "auto" || regions.level[r] <= state.level;
/** What a fixed level shows: its communities, and those of coarser levels that are not divided by then. */
const ofLevel = (r) => regions.level[r] <= state.level && dividedOn[r] > state.level;

/** Collect what is on the screen: each region with its radius in pixels and how far it has appeared, and the dots. */
function collect() {
  frame.regions.length = frame.dots.length = 0;
  for (let r = 0; r < nRegions; ) {
    const sr = regions.r[r] * camera.k, sx = screenX(regions.x[r]), sy = screenY(regions.y[r]);
    if (!onScreen(sx, sy, sr)) {
      r = endOf[r];
      continue;
    }
    const shown = regions.parent[r] < 0 || state.level !== "auto" ? 1 : Math.min(Math.max((sr - FADE_FROM) / (FADE_TO - FADE_FROM), 0), 1);
    if (drawnOn(r) && shown > 0) frame.regions.push({ r, sx, sy, sr, shown });
    for (let e = regions.first[r]; e < regions.own[r]; e++) {
      const er = entities.r[e] * camera.k, ex = screenX(entities.x[e]), ey = screenY(entities.y[e]);
      if (er > 0.22 && onScreen(ex, ey, er + 2)) frame.dots.push({ e, sx: ex, sy: ey, sr: er });
    }
    r++;
  }
}

function circle(x, y, r) {
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
}

function drawRegions() {
  for (const { r, sx, sy, sr, shown } of frame.regions) {
    pen.globalAlpha = shown;
    pen.fillStyle = ground(r);
    circle(sx, sy, sr);
    pen.fill();
    if (sr > 14) {
      pen.globalAlpha = shown * (ofLevel(r) ? 0.9 : 0.5);
      pen.lineWidth = ofLevel(r) ? 1.2 : 0.7;
      pen.strokeStyle = rim(r);
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
  const marks = [[state.over?.region ?? -1, 1.5], [state.region, 2.5]];
  for (const [r, line] of marks) {
    if (r < 0) continue;
    pen.lineWidth = line;
    pen.strokeStyle = theme.mark;
    circle(screenX(regions.x[r]), screenY(regions.y[r]), regions.r[r] * camera.k);
    pen.stroke();
  }
}

/** Dots that are told apart from the rest: of a type, or near to what is selected. Null: all alike. */
function emphasised() {
  if (state.entity >= 0) return (e) => e === state.entity || state.near.has(e);
  if (state.type >= 0) return (e) => entities.type[e] === state.type;
  return null;
}

function drawDots() {
  const strong = emphasised();
  for (const { e, sx, sy, sr } of frame.dots) {
    pen.globalAlpha = (strong && !strong(e) ? 0.16 : 1) * Math.min(0.35 + sr * 0.4, 1);
    pen.fillStyle = dotColour(e);
    if (sr < 1.7) {
      const side = Math.max(sr * 1.8, 1);
      pen.fillRect(sx - side / 2, sy - side / 2, side, side);
    } else {
      circle(sx, sy, sr);
      pen.fill();
    }
  }
  pen.globalAlpha = 1;
  for (const e of [state.over?.entity ?? -1, state.entity]) {
    if (e < 0) continue;
    pen.lineWidth = e === state.entity ? 3 : 1.5;
    pen.strokeStyle = e === state.entity ? theme.mark : theme.ink;
    circle(screenX(entities.x[e]), screenY(entities.y[e]), Math.max(entities.r[e] * camera.k, 3) + 2);
    pen.stroke();
  }
}

/** Lines of the selection, bent a little, so that those that run side by side are told apart. */
function drawLines() {
  if (!state.lines.length) return;
  const most = state.lines.reduce((found, each) => Math.max(found, each.weight), 1);
  pen.strokeStyle = state.entity >= 0 ? theme.ink : theme.mark;
  pen.lineCap = "round";
  for (const { from, to, weight, dashed } of state.lines) {
    const x1 = screenX(from.x), y1 = screenY(from.y), x2 = screenX(to.x), y2 = screenY(to.y);
    const away = Math.hypot(x2 - x1, y2 - y1) || 1;
    const ux = (x2 - x1) / away, uy = (y2 - y1) / away;
    // From rim to rim between entities; into the circle between communities, which may touch.
    const a = from.r * camera.k, b = to.r * camera.k * (state.entity >= 0 ? 1 : 0.6), bend = Math.max(away - a - b, 0) * 0.16;
    pen.globalAlpha = state.entity >= 0 ? 0.34 : 0.5;
    pen.lineWidth = state.entity >= 0 ? 0.8 + (1.6 * weight) / most : 1 + (5 * weight) / most;
    pen.setLineDash(dashed ? [2, 5] : []); // what the documents' structure links
    pen.beginPath();
    pen.moveTo(x1 + ux * a, y1 + uy * a);
    pen.quadraticCurveTo((x1 + ux * a + x2 - ux * b) / 2 - uy * bend, (y1 + uy * a + y2 - uy * b) / 2 + ux * bend, x2 - ux * b, y2 - uy * b);
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function drawFrame() {
  pen.fillStyle = theme.paper;
  pen.fillRect(0, 0, width, height);
  collect();
  drawRegions();
  drawLines();
  drawDots();
  drawLabels();
  if (!frame.drawn++) performance.mark("first drawn"); // what a benchmark looks for
}

/** What is at a point of the screen: the dot there, else the region that a click is taken to mean, else null. */
function at(sx, sy) {
  const x = worldX(sx), y = worldY(sy);
  const found = [];
  for (let r = 0; r < nRegions; ) {
    if (Math.hypot(x - regions.x[r], y - regions.y[r]) > regions.r[r]) {
      r = endOf[r];
      continue;
    }
    found.push(r++);
  }
  if (!found.length) return null;
  let nearest = null, least = 6;
  for (const r of found) {
    for (let e = regions.first[r]; e < regions.own[r]; e++) {
      const sr = entities.r[e] * camera.k;
      const off = Math.hypot(x - entities.x[e], y - entities.y[e]) * camera.k - sr;
      if (off < least && sr >= 3) [nearest, least] = [e, off];
    }
  }
  const shown = found.filter((r) => drawnOn(r) && (regions.parent[r] < 0 || state.level !== "auto" || regions.r[r] * camera.k > FADE_TO));
  // The largest that does not fill the screen already: so each click leads one step deeper.
  const onLevel = state.level === "auto" ? undefined : shown.find(ofLevel);
  const region = onLevel ?? shown.find((r) => regions.r[r] * camera.k < shorter() * 0.36) ?? shown.at(-1);
  if (nearest !== null && (least <= 0 || region === shown.at(-1))) return { entity: nearest };
  return region === undefined ? null : { region };
}
