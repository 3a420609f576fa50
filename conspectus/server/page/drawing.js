// Drawings that the server makes: elements from lists of a tag, attributes, and what is inside.
import { href } from "./address.js";
import { filled, make } from "./dom.js";

const NARROWEST = 0.75; // from here on a drawing is scrolled instead of made smaller
let made = 0;

/** The width that a drawing may have in a place. */
export const room = (place) => Math.round(Math.min(Math.max(place.clientWidth - 50, 300), 1100));

/** A drawing as the server gives it. */
export function drawing(parts) {
  const tip = `tip${made++}`;
  const element = ([tag, { "data-entity": entity, id, ...attributes }, ...inside]) => {
    for (const [name, value] of Object.entries(attributes)) attributes[name] = value.replace("#end", `#${tip}`);
    const node = filled(document.createElementNS("http://www.w3.org/2000/svg", tag), { ...attributes, id: id && tip }, inside.map((each) => (typeof each === "string" ? each : element(each))));
    return entity ? filled(document.createElementNS(node.namespaceURI, "a"), { href: href("entities", { id: entity }) }, [node]) : node;
  };
  const svg = element(parts), width = Number(parts[1].width), label = svg.querySelector("title").textContent;
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", label);
  svg.style.maxWidth = `${width}px`;
  svg.style.minWidth = `${width * NARROWEST}px`;
  return make("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": `${label}. Drawing, can be scrolled` }, svg);
}
