// What a question can be narrowed by: the method that answers it, and a filter over the documents' metadata.
import { addressOf, get } from "./api.js";
import { here } from "./address.js";
import { cut, make, shown } from "./dom.js";

const FIRST = ["auto", "ppr", "hybrid", "global", "local", "tog2", "fasttog", "gretriever"];
let methods = [];
const choosers = [];
const kept = new Map();

/** What is known of an index: its status and the keys of its metadata. */
export function known(index) {
  if (!kept.has(index)) {
    const found = Promise.all([get(addressOf(index, "status")), get(addressOf(index, "metadata"))]).then(([status, keys]) => ({ status, keys }));
    found.catch(() => kept.delete(index));
    kept.set(index, found);
  }
  return kept.get(index);
}
export const forgetKnown = (index) => kept.delete(index);
export const methodNamed = (name) => methods.find((each) => each.name === name);

export async function loadMethods() {
  methods = await get("/v1/methods");
  for (const fill of choosers) fill();
}
/** The methods in groups: those that most need, and all others. */
export function grouped() {
  const first = FIRST.map(methodNamed).filter(Boolean);
  return [["Often used", first], ["All others", methods.filter((each) => !first.includes(each))]];
}

/** A field for a question, in a form: Enter sends it. */
export const questionField = (attributes) => make("textarea", { maxlength: "8000", dir: "auto", "aria-label": "Question", ...attributes, onkeydown: (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
} });

/** A choice of a method with what it does below it. */
export function methodChoice(id) {
  const select = make("select", { id, "aria-label": "Method", "aria-describedby": `${id}-about` });
  const about = make("p", { class: "soft about", id: `${id}-about` });
  let wanted = "auto";
  const tell = () => {
    const chosen = methodNamed(select.value);
    about.textContent = chosen ? `${chosen.name}: ${chosen.about}.` : "";
  };
  choosers.push(() => {
    select.replaceChildren(...grouped().map(([label, rows]) => make("optgroup", { label }, ...rows.map((each) => make("option", { value: each.name }, each.name)))));
    select.value = methodNamed(wanted) ? wanted : "auto";
    tell();
  });
  select.addEventListener("change", () => {
    wanted = select.value;
    tell();
  });
  return {
    element: select,
    about,
    get value() {
      return select.value || wanted;
    },
    set(name) {
      wanted = methodNamed(name) || !methods.length ? name : "auto";
      select.value = wanted;
      tell();
    },
  };
}

/** A filter that is folded away until it is wanted; the keys that the documents have are offered. */
export function filterField(id) {
  const input = make("input", { id, type: "text", maxlength: "2000", spellcheck: "false", autocomplete: "off", placeholder: "year >= 2020 and lang = en", "aria-describedby": `${id}-keys` });
  const keys = make("div", { class: "keys", id: `${id}-keys` });
  const panel = make("div", { class: "filter", id: `${id}-panel`, hidden: true }, make("label", { for: id }, "Only documents where"), input, keys);
  const toggle = make("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-controls": `${id}-panel`, onclick: () => unfold(panel.hidden, true) }, "Filter");
  async function unfold(open, focus) {
    panel.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (!open) return;
    if (focus) input.focus();
    const { keys: rows } = await known(here.index).catch(() => ({ keys: [] }));
    const use = (key, value) => {
      const name = /^[\p{L}\p{N}_.:/-]+$/u.test(key) && !/^(and|or|not|in)$/i.test(key) ? key : `\`${key}\``;
      const term = `${name} = ${/^-?\d+(\.\d+)?$/.test(value) ? value : value.includes('"') ? `'${value}'` : `"${value}"`}`;
      input.value = input.value.trim() ? `${input.value.trim()} and ${term}` : term;
      mark();
      input.focus();
    };
    keys.replaceChildren(...(rows.length ? rows.slice(0, 8).map((row) => make("p", {}, make("b", {}, shown(row.key)), ` in ${row.documents.toLocaleString("en")}: `, ...row.values.slice(0, 6).map((value) => make("button", { type: "button", class: "chip", onclick: () => use(row.key, value) }, shown(cut(value, 30)))))) : [make("p", {}, "These documents have no metadata; title, id and uri can be filtered by: title contains \"report\".")]));
  }
  const mark = () => toggle.classList.toggle("on", Boolean(input.value.trim()));
  input.addEventListener("input", mark);
  return {
    toggle,
    panel,
    get value() {
      return input.value.trim();
    },
    set(text) {
      input.value = text;
      mark();
      if (text) unfold(true, false);
    },
  };
}
