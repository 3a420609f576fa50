// Which part of the map is seen: the point in the middle, and how many pixels a unit takes.
const stage = document.getElementById("stage"), canvas = document.getElementById("map");
const pen = canvas.getContext("2d", { alpha: false });
const camera = { x: 0, y: 0, k: 1 };
let width = 1, height = 1, flight = null, wanted = false;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const shorter = () => Math.min(width, height);
const wholeK = () => (shorter() / (2 * Math.max(data.radius, 1))) * 0.94;
const within = (k) => Math.min(Math.max(k, wholeK() * 0.6), Math.max(48, wholeK()));
const screenX = (x) => (x - camera.x) * camera.k + width / 2;
const screenY = (y) => (y - camera.y) * camera.k + height / 2;
const worldX = (sx) => (sx - width / 2) / camera.k + camera.x;
const worldY = (sy) => (sy - height / 2) / camera.k + camera.y;

/** Ask for a frame; however often it is asked for, one is drawn. */
function redraw() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame((now) => {
    wanted = false;
    if (flight) flight(now);
    drawFrame();
  });
}

function zoomAt(sx, sy, factor) {
  flight = null;
  const x = worldX(sx), y = worldY(sy);
  camera.k = within(camera.k * factor);
  camera.x = x - (sx - width / 2) / camera.k;
  camera.y = y - (sy - height / 2) / camera.k;
  stay();
  redraw();
}

function pan(dx, dy) {
  flight = null;
  camera.x -= dx / camera.k;
  camera.y -= dy / camera.k;
  stay();
  redraw();
}

/** The middle of what is seen stays on the map. */
function stay() {
  const away = Math.hypot(camera.x, camera.y);
  if (away > data.radius) {
    camera.x *= data.radius / away;
    camera.y *= data.radius / away;
  }
}

/** Fly to a place. */
function flyTo(x, y, k) {
  k = within(k);
  const from = { ...camera }, lasts = calm.matches ? 0 : 420 + 160 * Math.min(Math.abs(Math.log(k / from.k)), 3);
  let begun = null;
  flight = (now) => {
    begun ??= now;
    const t = lasts ? Math.min((now - begun) / lasts, 1) : 1, eased = t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
    camera.k = from.k * (k / from.k) ** eased;
    // Along the way as far as the scale allows: on the screen the speed is even.
    const share = Math.abs(k / from.k - 1) < 1e-6 ? eased : (1 / from.k - 1 / camera.k) / (1 / from.k - 1 / k);
    Object.assign(camera, t < 1 ? { x: from.x + (x - from.x) * share, y: from.y + (y - from.y) * share } : { x, y, k });
    if (t < 1) redraw();
    else flight = null;
  };
  redraw();
}
const flyToWhole = () => flyTo(0, 0, wholeK());
const flyToRegion = (r) => flyTo(regions.x[r], regions.y[r], (shorter() * 0.43) / regions.r[r]);
/** Fly to where an entity is seen with most of what it is related to, if that leaves it large enough. */
function flyToEntity(e) {
  const x = entities.x[e], y = entities.y[e], r = entities.r[e];
  const away = [...state.near].map((other) => Math.hypot(entities.x[other] - x, entities.y[other] - y)).sort((a, b) => a - b);
  const most = away.length ? away[Math.floor((away.length - 1) * 0.8)] : regions.r[regionOf[e]];
  flyTo(x, y, Math.min(Math.max((shorter() * 0.42) / (most + r), 7 / r, wholeK() * 1.5), Math.max(22 / r, 5)));
}

function resize() {
  const box = stage.getBoundingClientRect(), sharp = Math.min(devicePixelRatio || 1, 2);
  const atWhole = camera.k === 1 || Math.abs(camera.k / wholeK() - 1) < 0.02;
  width = Math.max(box.width, 1);
  height = Math.max(box.height, 1);
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  font = ""; // a canvas of a new size has forgotten its font
  if (atWhole && !flight) camera.k = wholeK();
  drawFrame(); // at once: a canvas of a new size is empty
}
