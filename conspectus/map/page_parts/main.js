// What the pointer, the keys and the address do, and what is selected.
const said = document.getElementById("said"), hint = document.getElementById("hint");

/** How often a region's entities are joined with those of other regions of its level, most first: by `rows` and `end`. */
function beside(r, rows, end) {
  const level = regions.level[r], weights = new Map();
  for (let e = regions.first[r]; e < regions.last[r]; e++) {
    for (const i of rows(e)) {
      const other = end(i, e);
      if (other >= regions.first[r] && other < regions.last[r]) continue;
      const there = regionOn(other, level);
      weights.set(there, (weights.get(there) ?? 0) + 1);
    }
  }
  return [...weights].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}
const neighbours = (r) => beside(r, relationsOf, otherEnd);
const linkedRegions = (r) => beside(r, (e) => linking[e], linkedEnd);
const place = (table, row) => ({ x: table.x[row], y: table.y[row], r: table.r[row] });

/** Select a region, an entity or ({}) nothing; tell it, and fly there if asked to. */
function select({ region = -1, entity = -1 }, fly = false) {
  Object.assign(state, { region, entity, over: null, near: new Set(), lines: [] });
  if (entity >= 0) {
    const weights = new Map();
    for (const i of relationsOf(entity)) {
      const other = otherEnd(i, entity);
      if (other !== entity) weights.set(other, (weights.get(other) ?? 0) + relations.weight[i]);
    }
    state.near = new Set(weights.keys());
    state.lines = [...weights].sort((a, b) => b[1] - a[1]).slice(0, 400).map(([other, weight]) => ({ from: place(entities, entity), to: place(entities, other), weight }));
    for (const i of linking[entity]) {
      const other = linkedEnd(i, entity);
      if (weights.has(other)) continue;
      state.near.add(other);
      state.lines.push({ from: place(entities, entity), to: place(entities, other), weight: 0, dashed: true });
    }
    tellEntity(entity);
    if (fly) flyToEntity(entity);
  } else if (region >= 0) {
    state.lines = neighbours(region).slice(0, 12).map(([other, weight]) => ({ from: place(regions, region), to: place(regions, other), weight }));
    const related = new Set(neighbours(region).slice(0, 12).map(([other]) => other));
    for (const [other] of linkedRegions(region).filter(([other]) => !related.has(other)).slice(0, 8))
      state.lines.push({ from: place(regions, region), to: place(regions, other), weight: 0, dashed: true });
    tellRegion(region);
    if (fly) flyToRegion(region);
  } else {
    tellOverview();
    if (fly) flyToWhole();
  }
  tellCrumbs();
  const name = entity >= 0 ? entities.name[entity] : region >= 0 ? regions.title[region] : "";
  said.textContent = entity >= 0 ? `Entity ${name}` : region >= 0 ? `Community ${name}, ${counted(regions.size[region], "entity", "entities")}` : "The whole map";
  document.title = name ? `${name} · ${data.title}` : data.title;
  const address = addressOf(state);
  if (location.hash.replace(/^#$/, "") !== address) location.hash = address;
  hideHint();
  redraw();
}

const addressOf = ({ region, entity }) => (entity >= 0 ? `#entity=${encodeURIComponent(entities.id[entity])}` : region >= 0 ? `#community=${encodeURIComponent(regions.id[region])}` : "");

/** Select what the address names, which a link or the browser's way back has changed. */
function followAddress(fly) {
  const [, kind, id] = /^#(entity|community)=(.+)$/.exec(location.hash) ?? [];
  const table = kind === "entity" ? entities : regions;
  const row = kind ? table.id.findIndex((each) => encodeURIComponent(each) === id || each === id) : -1;
  select(row < 0 ? {} : kind === "entity" ? { entity: row } : { region: row }, fly);
}

function up() {
  if (state.entity >= 0) select({ region: regionOf[state.entity] }, true);
  else if (state.region >= 0 && regions.parent[state.region] >= 0) select({ region: regions.parent[state.region] }, true);
  else select({}, true);
}

function hideHint() {
  hint.hidden = true;
}
function showHint(what, sx, sy) {
  if (!what) return hideHint();
  const e = what.entity ?? -1;
  hint.replaceChildren(
    spoken(e >= 0 ? entities.name[e] : regions.title[what.region]),
    make("small", {}, e >= 0 ? `${data.types[entities.type[e]].toLowerCase()} · ${counted(entities.degree[e], "neighbour")}` : `${regions.id[what.region] === ALONE ? "" : `${levelName(regions.level[what.region])} · `}${counted(regions.size[what.region], "entity", "entities")}`),
  );
  hint.hidden = false;
  hint.style.left = `${Math.min(sx + 14, width - hint.offsetWidth - 8)}px`;
  hint.style.top = `${Math.min(sy + 16, height - hint.offsetHeight - 8)}px`;
}

// The pointer: one drags or clicks, two pinch.
const fingers = new Map();
let moved = 0;
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  if (fingers.size === 1) moved = 0;
  results.hidden = true;
  hideHint();
});
canvas.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) {
    const what = at(event.offsetX, event.offsetY);
    const changed = what?.region !== state.over?.region || what?.entity !== state.over?.entity;
    state.over = what;
    canvas.classList.toggle("over", what !== null);
    showHint(what, event.offsetX, event.offsetY);
    if (changed) redraw();
    return;
  }
  const dx = event.offsetX - before[0], dy = event.offsetY - before[1];
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
  };
  const earlier = fingers.size === 2 ? apart() : 0;
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  moved += Math.abs(dx) + Math.abs(dy);
  if (moved > 4) canvas.classList.add("held");
  if (fingers.size === 2) {
    const [a, b] = [...fingers.values()];
    pan(dx / 2, dy / 2);
    zoomAt((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, apart() / earlier);
  } else if (moved > 4) pan(dx, dy);
});
const lift = (event) => {
  fingers.delete(event.pointerId);
  canvas.classList.remove("held");
};
canvas.addEventListener("pointercancel", lift);
canvas.addEventListener("pointerleave", () => {
  if (state.over && !fingers.size) {
    state.over = null;
    redraw();
  }
  hideHint();
});
canvas.addEventListener("pointerup", (event) => {
  lift(event);
  if (moved > 4) return;
  const what = at(event.offsetX, event.offsetY);
  if (what) select(what, what.region !== undefined);
  else select({});
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const step = event.deltaY * (event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1);
  zoomAt(event.offsetX, event.offsetY, Math.exp(-Math.max(Math.min(step, 240), -240) * (event.ctrlKey ? 0.01 : 0.0022)));
  hideHint();
}, { passive: false });

const zoomKeys = { "+": 1.4, "=": 1.4, "-": 1 / 1.4, "_": 1 / 1.4 };
const panKeys = { ArrowLeft: [70, 0], ArrowRight: [-70, 0], ArrowUp: [0, 70], ArrowDown: [0, -70] };
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in panKeys) pan(...panKeys[event.key]);
  else if (event.key in zoomKeys) zoomAt(width / 2, height / 2, zoomKeys[event.key]);
  else if (event.key === "0" || event.key === "Home") flyToWhole();
  else if (event.key === "Enter") {
    const what = at(width / 2, height / 2);
    if (what) select(what, true);
  } else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === query) return;
  if (event.key === "/") {
    event.preventDefault();
    query.focus();
  } else if (event.key === "Escape") up();
});
for (const [id, act] of Object.entries({ closer: () => zoomAt(width / 2, height / 2, 1.5), farther: () => zoomAt(width / 2, height / 2, 1 / 1.5), whole: () => select({}, true) })) {
  document.getElementById(id).addEventListener("click", act);
}

function makeLevels() {
  const box = document.getElementById("levels");
  const levels = ["auto", ...Array.from({ length: Math.min(deepest, 3) + 1 }, (_, level) => level)];
  box.hidden = !roots.length;
  for (const level of levels) {
    const input = make("input", { type: "radio", name: "level", value: String(level) });
    input.checked = level === state.level;
    input.addEventListener("change", () => {
      state.level = level;
      said.textContent = level === "auto" ? "Levels by zoom" : `Level ${levelName(level)}`;
      redraw();
    });
    const title = level === "auto" ? "Deeper levels appear as you zoom in" : `The communities of level ${levelName(level)}${level === 0 ? ", the coarsest" : ""}`;
    box.append(make("label", { title }, input, level === "auto" ? "By zoom" : levelName(level)));
  }
}

function makeLegend() {
  const box = document.getElementById("legend");
  box.hidden = !nEntities;
  const counts = new Map();
  for (const t of entities.type) counts.set(t, (counts.get(t) ?? 0) + 1);
  const choices = [[false, "community"], [true, "type"]].map(([value, name]) =>
    make("button", { "aria-pressed": String(byType === value), onclick: () => {
      byType = value;
      state.type = -1;
      again();
    } }, name));
  const rows = data.types.map((name, t) =>
    make("li", {}, make("button", { "aria-pressed": String(state.type === t), onclick: () => {
      state.type = state.type === t ? -1 : t;
      again();
    } }, dot(typeColour(t)), spoken((name || "no type").toLowerCase().replaceAll("_", " ")), make("small", {}, counts.get(t).toLocaleString("en")))));
  const again = () => {
    const focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
    makeLegend();
    box.querySelectorAll("button")[focused]?.focus();
    redraw();
  };
  box.replaceChildren(make("div", { role: "group", "aria-label": "Colour" }, "Colour by", ...choices), ...(byType ? [make("ul", { "aria-label": "Types of entities; press one to tell it apart" }, ...rows)] : []), make("p", {}, "Larger dots: more neighbours"));
}

function begin() {
  canvas.places = { regions, entities, radius: data.radius };
  readTheme();
  canvas.setAttribute("aria-label", `Map of ${data.title}: ${counted(nEntities, "entity", "entities")} in ${counted(roots.length, "community of the coarsest level", "communities of the coarsest level")}`);
  makeLevels();
  makeLegend();
  resize();
  new ResizeObserver(resize).observe(stage);
  darkly.addEventListener("change", () => {
    readTheme();
    makeLegend();
    followAddress(false);
  });
  addEventListener("hashchange", () => {
    if (location.hash.replace(/^#$/, "") !== addressOf(state)) followAddress(true);
  });
  followAddress(location.hash.length > 1);
  setTimeout(texts, 50); // the map first, then the texts
}
begin();
