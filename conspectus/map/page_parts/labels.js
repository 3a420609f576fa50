// Names on the map: the most important first, and none over another.
const widths = new Map(); // of each font, of each text
const RTL = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const NARROW = /[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]/;

let font = "", widthsNow = new Map();
/** Set the font, of which there are few: reading and setting it costs more than drawing a word. */
function write(weight, size, family) {
  const wanted = `${weight} ${size}px ${family}`;
  if (wanted === font) return;
  pen.font = font = wanted;
  widthsNow = widths.get(wanted) ?? (widths.set(wanted, new Map()), widths.get(wanted));
}
/** The nearest size of those that are used. */
const sized = (size) => [10, 11, 12, 14, 16, 18, 21].findLast((each) => each <= Math.max(size, 10));

function wide(text) {
  let found = widthsNow.get(text);
  if (found === undefined) {
    if (widthsNow.size > 5000) widthsNow.clear();
    found = pen.measureText(text).width;
    widthsNow.set(text, found);
  }
  return found;
}

/** A text in at most so many lines that stay within a width, broken between words, or signs where there are none. */
function wrapped(text, most, lines) {
  const parts = NARROW.test(text) ? Array.from(text) : text.split(/(?<=[\s\-–])/u);
  const found = [];
  let line = "", taken = 0;
  for (const part of parts) {
    const needed = wide(part);
    if (line && taken + wide(part.trimEnd()) > most) {
      found.push(line.trimEnd());
      line = "";
      taken = 0;
      if (found.length === lines) break;
    }
    line += part;
    taken += needed;
  }
  if (line && found.length < lines) found.push(line.trimEnd());
  else if (found.length === lines) found[lines - 1] = `${found[lines - 1].replace(/[\s,;:]+$/u, "")}…`;
  return found.map((each) => shortenedTo(each, most));
}

function shortenedTo(text, most) {
  const whole = wide(text);
  if (whole <= most) return text;
  const signs = Array.from(text);
  for (let n = Math.ceil((signs.length * most) / whole); n > 0; n--) {
    const cut = `${signs.slice(0, n).join("").trimEnd()}…`;
    if (wide(cut) <= most) return cut;
  }
  return "…";
}

const taken = [];
const overlaps = (box) => taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);

/** Draw lines of text around a middle if they have room; tell whether they had. */
function put(lines, x, y, size, colour, { haloed = true, alpha = 1, force = false } = {}) {
  const step = size * 1.16, w = Math.max(...lines.map(wide)) / 2 + 3, h = (lines.length * step) / 2 + 1;
  const box = [x - w, y - h, x + w, y + h];
  if (box[2] < 0 || box[0] > width || box[3] < 0 || box[1] > height) return false;
  if (!force && overlaps(box)) return false;
  taken.push(box);
  pen.globalAlpha = alpha;
  pen.fillStyle = colour;
  pen.strokeStyle = theme.paper;
  pen.lineWidth = Math.max(size * 0.22, 3);
  lines.forEach((line, place) => {
    pen.direction = RTL.test(line) ? "rtl" : "ltr";
    const at = y + (place - (lines.length - 1) / 2) * step;
    if (haloed) pen.strokeText(line, x, at);
    pen.fillText(line, x, at);
  });
  pen.globalAlpha = 1;
  return true;
}

/** Whether a region has grown so large that its parts or its entities have names; its own then stands at its rim. */
function opened(r) {
  if (state.level !== "auto") return !ofLevel(r) || largestDot[r] * camera.k > 11 || regions.r[r] * camera.k > shorter() * 0.4;
  return largestDot[r] * camera.k > 11 || largestPart[r] * camera.k > 62;
}
/** Whether all that a region lies in has. */
const inTheOpen = (r) => regions.parent[r] < 0 || (opened(regions.parent[r]) && inTheOpen(regions.parent[r]));

function regionLabels() {
  const middle = [], rims = [];
  for (const each of frame.regions) {
    const { r, sr } = each;
    if (sr < 22 || (state.level !== "auto" && !ofLevel(r)) || !inTheOpen(r)) continue;
    if (!opened(r)) middle.push(each);
    else if (sr > 60 && sr < shorter() * 0.75) rims.push(each);
  }
  middle.sort((a, b) => b.sr - a.sr);
  rims.sort((a, b) => b.sr - a.sr);
  for (const { r, sx, sy, sr } of middle.slice(0, 160)) {
    const size = Math.max(sized(9.5 + sr / 13), 11);
    write(600, size, theme.serif);
    put(wrapped(regions.title[r], Math.max(sr * 1.8, 72), sr > 34 ? 3 : 2), sx, sy, size, theme.ink);
  }
  for (const { r, sx, sy, sr } of rims.slice(0, 30)) {
    write("italic 600", 12, theme.serif);
    put([shortenedTo(regions.title[r], Math.max(sr * 1.6, 90))], sx, sy - sr + 1, 12, theme.soft);
  }
}

/** Dots that a name beside another dot would hide, or seem to belong to. */
let inTheWay = [];
const hides = (e, x, y, w, h) =>
  inTheWay.some((dot) => dot.e !== e && Math.hypot(Math.max(Math.abs(dot.sx - x) - w, 0), Math.max(Math.abs(dot.sy - y) - h, 0)) < dot.sr);

/** A name in the dot where there is room for all of it, else beside it where that hides no other, else cut. */
function entityLabel(e, { force = false, strong = false } = {}) {
  const sr = entities.r[e] * camera.k, sx = screenX(entities.x[e]), sy = screenY(entities.y[e]);
  const weight = strong ? 700 : 500;
  const within = (cut) => {
    const size = Math.min(sized(sr / 4), 18);
    write(weight, size, theme.sans);
    const most = sr > 60 ? 3 : Math.max(Math.floor((sr * 1.3) / size), 1);
    const lines = wrapped(entities.name[e], sr * (most > 2 ? 1.6 : 1.75), most);
    if (!cut && lines.some((line) => line.endsWith("…"))) return false;
    return put(lines, sx, sy, size, theme.paper, { haloed: false, force });
  };
  if (sr > 15 && within(sr > 30)) return true;
  const size = strong ? 16 : 11;
  write(weight, size, theme.sans);
  const lines = wrapped(entities.name[e], strong ? 240 : 120, 2);
  const w = Math.max(...lines.map(wide)) / 2, h = lines.length * size * 0.58, off = Math.max(sr, 2) + 4;
  for (const [dx, dy] of [[0, off + h], [0, -off - h], [off + w, 0], [-off - w, 0]]) {
    if ((strong || !hides(e, sx + dx, sy + dy, w, h)) && put(lines, sx + dx, sy + dy, size, theme.ink)) return true;
  }
  if (force) return put(lines, sx, sy + off + h, size, theme.ink, { force });
  return sr > 18 && within(true);
}

function drawLabels() {
  taken.length = 0;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const strong = emphasised();
  // Of what is told apart the others may be hidden: they are pale.
  inTheWay = frame.dots.filter(({ e, sr }) => sr > 4 && (!strong || strong(e)));
  const done = new Set();
  const first = [state.entity, state.over?.entity ?? -1].filter((e) => e >= 0);
  for (const e of first) {
    entityLabel(e, { force: true, strong: true });
    done.add(e);
  }
  if (state.entity >= 0) {
    const near = [...state.near].sort((a, b) => entities.degree[b] - entities.degree[a]).slice(0, 60);
    for (const e of near) done.add(e) && entityLabel(e);
  } else if (state.over?.region >= 0) {
    const r = state.over.region, sr = regions.r[r] * camera.k;
    write(700, 14, theme.serif);
    // A region that is too small to have its name in it shows it while the pointer is there.
    if (sr < 22) put(wrapped(regions.title[r], 220, 2), screenX(regions.x[r]), screenY(regions.y[r]) - sr - 16, 14, theme.mark);
  }
  if (!strong) regionLabels();
  const dots = frame.dots.filter(({ e, sr }) => sr > 6.5 && !done.has(e) && (strong ? strong(e) : opened(regionOf[e]) && inTheOpen(regionOf[e])));
  dots.sort((a, b) => b.sr - a.sr || a.e - b.e);
  for (const { e } of dots.slice(0, 260)) entityLabel(e);
  if (strong) regionLabels(); // what is told apart is named first
}
