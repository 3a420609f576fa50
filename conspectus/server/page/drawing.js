// Graphs in columns: the paths to a passage, a walk, a subgraph, what is around an entity.
import { href } from "./address.js";
import { cut, draw, make, shown } from "./dom.js";

const WIDE = 178, HIGH = 40, GAP = 132, ROW = 56, MARGIN = 10;
const SAID = 20, SMALLEST = 0.72;
let made = 0;

/**
 * A graph. `nodes`: { key, column, label, below, kind, href, strong }; `edges`: { from, to, label, width, dashed, both } by
 * keys. `wide` and `gap` are the widths of a box and between two. Nodes of a column stand where what they are joined to stands, in the order given where that says nothing.
 */
export function graph(nodes, edges, label, { wide = WIDE, gap = GAP } = {}) {
  const columns = [];
  for (const node of nodes) (columns[node.column] ??= []).push(node);
  const used = columns.filter(Boolean);
  used.forEach((column, x) => column.forEach((node, y) => Object.assign(node, { x, y: y - (column.length - 1) / 2 })));
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const drawn = edges.filter((edge) => byKey.has(edge.from) && byKey.has(edge.to));
  for (let round = 0; round < 4; round++) for (const column of used) settle(column, drawn, byKey);
  const top = Math.min(...nodes.map((node) => node.y)), low = Math.max(...nodes.map((node) => node.y));
  const left = (node) => MARGIN + node.x * (wide + gap), middle = (node) => MARGIN + HIGH / 2 + (node.y - top) * ROW;
  const loops = drawn.some((edge) => byKey.get(edge.from).x === byKey.get(edge.to).x);
  const width = 2 * MARGIN + used.length * wide + (used.length - 1) * gap + (loops ? gap * 0.6 : 0), height = 2 * MARGIN + (low - top) * ROW + HIGH;
  const tip = `tip${made++}`, labels = [], lines = [];
  for (const edge of drawn) {
    let [one, other] = [byKey.get(edge.from), byKey.get(edge.to)];
    const turned = one.x > other.x;
    if (turned) [one, other] = [other, one];
    const x1 = left(one) + wide, y1 = middle(one), y2 = middle(other);
    let d, lx, ly;
    if (one.x === other.x) {
      const out = x1 + gap * 0.45;
      d = `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x1} ${y2}`;
      [lx, ly] = [x1 + gap * 0.34, (y1 + y2) / 2];
    } else {
      const x2 = left(other), bend = Math.min((x2 - x1) / 2, gap);
      d = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
      // Near the end where lines are apart, so that names of lines from one node do not cover each other.
      const at = drawn.filter((each) => each.from === edge.from).length > drawn.filter((each) => each.to === edge.to).length !== turned ? 0.64 : 0.36;
      [lx, ly] = [x1 + (x2 - x1) * at, y1 + (y2 - y1) * (3 * at ** 2 - 2 * at ** 3)];
    }
    const ends = turned ? { "marker-start": `url(#${tip})` } : { "marker-end": `url(#${tip})` };
    lines.push(draw("path", { class: edge.dashed ? "edge dashed" : "edge", d, "stroke-width": (edge.width ?? 1.4).toFixed(2), ...(edge.dashed ? {} : ends) }, draw("title", {}, shown(`${byKey.get(edge.from).label} ${edge.label} ${byKey.get(edge.to).label}`))));
    if (edge.label) labels.push(...named(lx, ly, cut(shown(edge.label), Math.round(gap / 6.6))));
  }
  const boxes = nodes.map((node) => box(node, left(node), middle(node), wide));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label },
    draw("defs", {}, draw("marker", { id: tip, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, draw("path", { class: "tip", d: "M0 0 L8 4 L0 8 z" }))),
    ...lines, ...labels, ...boxes);
  svg.style.maxWidth = `${width}px`;
  svg.style.minWidth = `${width * SMALLEST}px`; // from here on it is scrolled
  return make("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": `${label}. Drawing, can be scrolled` }, svg);
}

/** Put each node of a column at the middle of what it is joined to, none nearer to another than a row. */
function settle(column, edges, byKey) {
  const wanted = new Map(column.map((node) => {
    const near = edges.flatMap((edge) => (edge.from === node.key ? [edge.to] : edge.to === node.key ? [edge.from] : [])).map((key) => byKey.get(key)).filter((other) => other.x !== node.x);
    return [node, near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : node.y];
  }));
  column.sort((a, b) => wanted.get(a) - wanted.get(b));
  const middle = column.reduce((sum, node) => sum + wanted.get(node), 0) / column.length;
  column.forEach((node, place) => (node.y = Math.max(wanted.get(node), place ? column[place - 1].y + 1 : -Infinity)));
  const off = column.reduce((sum, node) => sum + node.y, 0) / column.length - middle;
  for (const node of column) node.y -= off;
}

function named(x, y, text) {
  const wide = text.length * 6 + 8;
  return [draw("rect", { class: "ground", x: x - wide / 2, y: y - 9, width: wide, height: 17, rx: 3 }), draw("text", { class: "said", x, y: y + 3.5 }, text)];
}

function box(node, x, y, wide) {
  const letters = [draw("text", { class: "name", x: x + wide / 2, y: node.below ? y - 2 : y + 4.5 }, cut(shown(node.label), Math.round(wide / 7.4)))];
  if (node.below) letters.push(draw("text", { class: "below", x: x + wide / 2, y: y + 12.5 }, cut(shown(node.below), Math.round(wide / 5.9))));
  const group = draw(node.href ? "a" : "g", { class: `node ${node.kind ?? ""}${node.strong ? " strong" : ""}`, href: node.href }, draw("title", {}, shown(node.below ? `${node.label} (${node.below})` : node.label)), draw("rect", { x, y: y - HIGH / 2, width: wide, height: HIGH, rx: node.kind === "passage" ? 5 : HIGH / 2 }), ...letters);
  return group;
}

const entity = (name) => href("entities", { id: name });

/** The paths to a passage, from the question. */
export function pathDrawing(explained) {
  const { nodes, edges } = explained.graph, most = Math.max(...edges.map((edge) => edge.mass), 1e-12);
  const shownNodes = [{ key: "question", column: 0, label: "the question", kind: "asked" }, ...nodes.map((each, row) => ({ key: row, column: each.layer + 1, label: each.node.name, below: each.why || each.node.kind, kind: each.node.kind, strong: row === nodes.length - 1, href: each.node.kind === "entity" ? entity(each.node.id) : null }))];
  const lines = [...nodes.map((each, row) => [each, row]).filter(([each]) => each.why).map(([, row]) => ({ from: "question", to: row, label: "", dashed: true })), ...edges.map((edge) => ({ from: edge.source, to: edge.end, label: edge.words, width: 1.2 + (5 * edge.mass) / most }))];
  return graph(shownNodes, lines, "The paths from the question to the passage", { wide: 152, gap: 84 });
}

/** The chains of a walk, side by side where they go through the same. */
export function walkDrawing(walk, answers) {
  const nodes = new Map(), edges = new Map();
  for (const chain of walk.chains.slice(0, 8)) {
    const at = new Map();
    chain.communities.forEach((members, column) => {
      for (const { id, name } of members.slice(0, 8)) {
        const key = `${column} ${id}`;
        at.set(name, [...(at.get(name) ?? []), key]);
        nodes.set(key, { key, column, label: name.replaceAll("_", " "), kind: "entity", strong: answers.includes(name), href: entity(id) });
      }
    });
    for (const triple of chain.triples) {
      // A name that the chain comes to twice is joined where the columns are next to each other.
      const pairs = (at.get(triple.source) ?? []).flatMap((one) => (at.get(triple.target) ?? []).map((other) => [one, other])).filter(([one, other]) => one !== other);
      const near = ([one, other]) => Math.abs(parseInt(one, 10) - parseInt(other, 10));
      const [best] = pairs.sort((a, b) => Math.abs(near(a) - 1) - Math.abs(near(b) - 1));
      if (best) edges.set(`${best} ${triple.predicate}`, { from: best[0], to: best[1], label: triple.predicate.split(".").at(-1).replaceAll("_", " ") });
    }
  }
  return graph([...nodes.values()], joined([...edges.values()]), "The walk over the graph");
}

/** The subgraph that was read, from what is worth most to the question outwards. */
export function subgraphDrawing(found, answers) {
  const most = 36, names = found.text.nodes.slice(0, most), edges = found.text.edges.filter((edge) => edge.source < most && edge.target < most);
  const beside = names.map(() => []);
  for (const { source, target } of edges) {
    beside[source].push(target);
    beside[target].push(source);
  }
  const column = new Map(found.node_prizes.slice(0, most).flatMap((prize, node) => (prize > 0 ? [[node, 0]] : [])));
  if (!column.size) column.set(0, 0);
  for (let start = 0; start < names.length; start++) {
    const queue = column.has(start) && start ? [] : [...column.keys()];
    if (!column.has(start) && !beside[start].some((other) => column.has(other))) column.set(start, 0);
    for (const node of queue) for (const other of beside[node]) if (!column.has(other)) {
      column.set(other, Math.min(column.get(node) + 1, 4));
      queue.push(other);
    }
  }
  const wanted = new Set(answers.map((name) => name.toLowerCase()));
  const nodes = names.map((name, key) => ({ key, column: column.get(key) ?? 0, label: name, below: found.node_prizes[key] ? `worth ${Number(found.node_prizes[key].toPrecision(3))}` : "", kind: "entity", strong: wanted.has(name.toLowerCase()), href: entity(name) }));
  return graph(nodes, joined(edges.map((edge) => ({ from: edge.source, to: edge.target, label: edge.text }))), "The subgraph that was read");
}

/** An entity with what points at it on the left and what it points at on the right. */
export function aroundDrawing(detail, most = 9) {
  const centre = { key: "centre", column: 1, label: detail.name, below: detail.type.toLowerCase(), kind: "entity", strong: true };
  const nodes = [centre], edges = [];
  if (detail.neighbours.length) {
    for (const outgoing of [false, true]) {
      const column = outgoing ? 2 : 0, side = detail.neighbours.filter((each) => each.outgoing === outgoing && each.entity_id !== detail.id);
      const ids = [...new Set(side.map((each) => each.entity_id))].slice(0, most);
      for (const each of side.filter((found) => ids.includes(found.entity_id))) {
        const key = `${column} ${each.entity_id}`;
        if (!nodes.some((node) => node.key === key)) nodes.push({ key, column, label: each.name, kind: "entity", href: entity(each.entity_id) });
        edges.push({ from: outgoing ? "centre" : key, to: outgoing ? key : "centre", label: each.predicate || cut(each.description, SAID) });
      }
    }
  } else {
    for (const [row, each] of detail.beside.slice(0, most).entries()) {
      const column = row % 2 ? 0 : 2;
      nodes.push({ key: each.entity_id, column, label: each.name, kind: "entity", href: entity(each.entity_id) });
      edges.push({ from: "centre", to: each.entity_id, label: `${each.passages} together`, dashed: true });
    }
  }
  return nodes.length > 1 ? graph(nodes, joined(edges), `What is around ${detail.name}`) : null;
}

/** Edges between the same two nodes as one. */
function joined(edges) {
  const found = new Map();
  for (const edge of edges) {
    const key = `${edge.from}\u0000${edge.to}`, label = String(edge.label).replaceAll("_", " ");
    const other = found.get(key);
    if (!other) found.set(key, { ...edge, label });
    else if (!other.label.split(", ").includes(label)) other.label += `, ${label}`;
  }
  return [...found.values()];
}
