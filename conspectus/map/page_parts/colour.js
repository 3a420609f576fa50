// Colours: a hue for each community of the coarsest level, or one for each type of entity.
const darkly = matchMedia("(prefers-color-scheme: dark)");
const theme = { paper: "", ink: "", soft: "", mark: "" };
let byType = false;

const oklch = (light, chroma, hue) => `oklch(${light.toFixed(3)} ${chroma.toFixed(3)} ${hue.toFixed(1)})`;

/** Neighbouring numbers get hues that are far apart: each is a golden angle on. */
const hueOfRoot = new Map(roots.map((r, place) => [r, (255 + place * 137.508) % 360]));
const typeHues = [255, 35, 150, 320, 95, 200, 0, 285, 125, 65];
const kept = new Map();
const remembered = (key, make) => kept.get(key) ?? (kept.set(key, make()), kept.get(key));

const plain = (r) => regions.id[rootOf[r]] === ALONE;
/** The ground of a region: the deeper, the stronger; paler where the dots have hues of their own. */
const ground = (r) =>
  remembered(`g${byType}${rootOf[r]}/${depthOf[r]}`, () => {
    const depth = Math.min(depthOf[r], 6), chroma = plain(r) ? 0 : byType ? 0.35 : 1;
    return darkly.matches
      ? oklch(0.235 + depth * 0.04, chroma * (0.022 + depth * 0.008), hueOfRoot.get(rootOf[r]))
      : oklch(0.945 - depth * 0.035, chroma * (0.022 + depth * 0.011), hueOfRoot.get(rootOf[r]));
  });
const rim = (r) =>
  remembered(`r${rootOf[r]}`, () => {
    const chroma = plain(r) ? 0 : 0.07;
    return oklch(darkly.matches ? 0.5 : 0.7, chroma, hueOfRoot.get(rootOf[r]));
  });
const typeColour = (t) =>
  remembered(`t${t}`, () => {
    if (t >= typeHues.length) return darkly.matches ? oklch(0.66, 0, 0) : oklch(0.6, 0, 0);
    return darkly.matches ? oklch(0.76, 0.125, typeHues[t]) : oklch(0.57, 0.14, typeHues[t]);
  });
const rootColour = (r) =>
  remembered(`d${rootOf[r]}`, () => {
    const chroma = plain(r) ? 0 : 0.115;
    return oklch(darkly.matches ? 0.74 : 0.56, chroma, hueOfRoot.get(rootOf[r]));
  });
const dotColour = (e) => (byType ? typeColour(entities.type[e]) : rootColour(regionOf[e]));

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of Object.keys(theme)) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.serif = style.getPropertyValue("--serif").trim();
  theme.sans = style.getPropertyValue("--sans").trim();
  kept.clear();
}
