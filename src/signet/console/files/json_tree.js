// A JSON value as a folding tree: children are made when they are first seen, a hundred at a time, so that large
// values stay usable. Arrow keys move, Enter unfolds; the value and the path of the chosen line can be copied.

import { copyButton, h, put, shown, tell } from "./dom.js";
import { useSheet } from "./sheet.js";
import { isNumber } from "./exact_json.js";
import { findAll, isFolder } from "./json_search.js";
import { isProposal, proposalLink } from "./tool_link.js";

const CHUNK = 100;
const MAX_TEXT = 500;
const OPEN_AT_FIRST = 30;
const SEEN_AT_ONCE = 12;
const SMALL = 12;
const SHORT_LIST = 20;
const MAX_LABEL = 80;
const LABELS = ["name", "title", "label", "code", "id"];

/** Return an element that shows a value; `label` names it for screen readers. */
export function jsonTree(value, label = "JSON") {
  useSheet("call.css");
  return new JsonTree(value, label).element;
}

class JsonTree {
  constructor(value, label) {
    this.value = value;
    this.nodes = new WeakMap();
    this.found = [];
    this.at = -1;
    this.tree = h("div", { role: "tree", "aria-label": label, class: "json-tree" });
    this.tree.addEventListener("click", (event) => this.#click(event));
    this.tree.addEventListener("keydown", (event) => this.#key(event));
    this.root = this.#item({ value, name: null, parent: null, level: 1 });
    this.tree.append(this.root);
    this.chosen = this.root;
    this.root.tabIndex = 0;
    this.path = h("code", { class: "json-path" }, "$");
    this.element = h("div", { class: "json" }, this.#toolbar(), this.tree);
    if (isFolder(value)) this.unfold(this.root);
    for (const child of this.#children(this.root).slice(0, OPEN_AT_FIRST)) {
      const node = this.nodes.get(child);
      if (!node.gap && isFolder(node.value) && size(node.value) <= mostShown(node.value)) this.unfold(child);
    }
  }

  #toolbar() {
    const id = `search-${Math.random().toString(36).slice(2)}`;
    this.count = h("span", { class: "help", role: "status" });
    const input = h("input", { id, type: "search", placeholder: "name or value", autocomplete: "off" });
    const form = h("form", { class: "row", role: "search", onsubmit: (event) => this.#search(event, input.value) },
      h("label", { for: id }, "Search"), input, h("button", { type: "submit", class: "quiet" }, "Next"), this.count);
    const node = () => this.nodes.get(this.chosen);
    const copies = h("div", { class: "row" }, this.path,
      copyButton(() => textOf(node().value), "Copy value"), copyButton(() => pathOf(node()), "Copy path"));
    return h("div", { class: "json-tools" }, isSmall(this.value) ? null : form, copies);
  }

  #item(node) {
    const folds = !node.gap && isFolder(node.value);
    const row = h("div", { class: "json-row" }, node.gap ? [] : line(node));
    const element = h("div", {
      role: "treeitem", tabindex: "-1", "aria-level": node.level, "aria-selected": "false",
      "aria-expanded": folds && size(node.value) ? "false" : null, class: node.gap ? "json-gap" : null,
    }, row);
    node.above = node.parent && this.nodes.get(node.parent);
    this.nodes.set(element, node);
    if (node.gap) this.#labelGap(element);
    return element;
  }

  #labelGap(element) {
    const { gap } = this.nodes.get(element);
    put(element.firstChild, `Show ${Math.min(CHUNK, gap[1] - gap[0])} more of ${(gap[1] - gap[0]).toLocaleString("en")}`);
  }

  /** Unfold a line, and make its first children where it has none yet. */
  unfold(element) {
    const node = this.nodes.get(element);
    if (!element.hasAttribute("aria-expanded")) return;
    if (!node.group) {
      node.names = Array.isArray(node.value) ? null : Object.keys(node.value);
      node.group = h("div", { role: "group" });
      element.append(node.group);
      this.#addGap(element, node, 0, size(node.value), null);
      this.#fill(node.group.firstChild);
    }
    element.setAttribute("aria-expanded", "true");
    node.group.hidden = false;
  }

  fold(element) {
    const node = this.nodes.get(element);
    element.setAttribute("aria-expanded", "false");
    if (node.group) node.group.hidden = true;
  }

  #addGap(element, node, start, end, before) {
    if (start >= end) return;
    node.group.insertBefore(this.#item({ gap: [start, end], parent: element, level: node.level + 1 }), before);
  }

  /** Put the next children, or those from an index on, in the place of a gap. Return the first of them. */
  #fill(gapElement, from = null) {
    const { gap, parent } = this.nodes.get(gapElement);
    const node = this.nodes.get(parent);
    const start = from ?? gap[0];
    const end = Math.min(gap[1], start + CHUNK);
    const made = [];
    for (let index = start; index < end; index += 1) {
      const name = node.names ? node.names[index] : index;
      made.push(this.#item({ value: node.value[name], name, index, parent, level: node.level + 1 }));
    }
    this.#addGap(parent, node, gap[0], start, gapElement);
    for (const item of made) node.group.insertBefore(item, gapElement);
    this.#addGap(parent, node, end, gap[1], gapElement);
    gapElement.remove();
    return made[0];
  }

  /** Unfold all that stands above a place, and choose it. */
  reveal(path) {
    let element = this.root;
    for (const name of path) {
      this.unfold(element);
      const node = this.nodes.get(element);
      const index = node.names ? node.names.indexOf(name) : name;
      element = this.#childAt(element, index);
    }
    this.choose(element);
    element.scrollIntoView({ block: "nearest" });
  }

  #childAt(element, index) {
    for (const child of this.#children(element)) {
      const node = this.nodes.get(child);
      if (node.index === index) return child;
      if (node.gap && index >= node.gap[0] && index < node.gap[1]) {
        this.#fill(child, Math.max(node.gap[0], index - (index % CHUNK)));
        return this.#childAt(element, index);
      }
    }
    return element;
  }

  choose(element) {
    this.chosen.tabIndex = -1;
    this.chosen.setAttribute("aria-selected", "false");
    this.chosen = element;
    element.tabIndex = 0;
    element.setAttribute("aria-selected", "true");
    const node = this.nodes.get(element);
    put(this.path, shown(pathOf(node.gap ? this.nodes.get(node.parent) : node)));
  }

  #children(element) {
    const { group } = this.nodes.get(element);
    return group && !group.hidden ? [...group.children] : [];
  }

  #toggle(element) {
    const node = this.nodes.get(element);
    if (node.gap) {
      const first = this.#fill(element);
      this.choose(first);
      first.focus();
    } else if (element.getAttribute("aria-expanded") === "true") this.fold(element);
    else this.unfold(element);
  }

  #click(event) {
    const row = event.target.closest(".json-row");
    if (!row || event.target.closest("a")) return;
    this.choose(row.parentElement);
    row.parentElement.focus();
    this.#toggle(row.parentElement);
  }

  #key(event) {
    const element = this.chosen;
    const folded = element.getAttribute("aria-expanded");
    const items = () => [...this.tree.querySelectorAll('[role="treeitem"]')].filter((item) => !item.closest("[hidden]"));
    const near = (step) => { const all = items(); return all[all.indexOf(element) + step]; };
    const moves = {
      ArrowDown: () => near(1),
      ArrowUp: () => near(-1),
      Home: () => this.root,
      End: () => items().at(-1),
      ArrowRight: () => (folded === "false" ? this.unfold(element) : folded === "true" ? this.#children(element)[0] : null),
      ArrowLeft: () => (folded === "true" ? this.fold(element) : this.nodes.get(element).parent),
      Enter: () => this.#toggle(element),
      " ": () => this.#toggle(element),
    };
    if (event.target.closest("a") && ["Enter", " "].includes(event.key)) return;
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = moves[event.key]();
    if (next) {
      this.choose(next);
      next.focus();
    }
  }

  #search(event, needle) {
    event.preventDefault();
    if (needle !== this.needle) {
      this.needle = needle;
      this.found = findAll(this.value, needle);
      this.at = -1;
    }
    if (!this.found.length) {
      put(this.count, needle ? "nothing found" : "");
      return;
    }
    this.at = (this.at + 1) % this.found.length;
    put(this.count, `${this.at + 1} of ${this.found.length}${this.found.complete ? "" : " or more"}`);
    this.reveal(this.found[this.at]);
    tell(`Found at ${pathOf(this.nodes.get(this.chosen))}`.slice(0, 200));
  }
}

function line(node) {
  const label = node.name === null ? [] : [h("span", { class: "json-name" }, shown(String(node.name))), ": "];
  const call = isFolder(node.value) && proposalIn(node);
  return [...label, shownValue(node.value), call && proposalLink(call)];
}

/** Return the call that a value proposes; an item of a list is folded, so the one that it holds counts as its own. */
function proposalIn({ name, value }) {
  if (typeof name !== "number" || isProposal(value)) return isProposal(value) && value;
  return Object.values(value).slice(0, SHORT_LIST).find(isProposal);
}

function shownValue(value) {
  if (isFolder(value)) {
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    const count = size(value);
    const sign = count ? `${open} ${count.toLocaleString("en")} ${close}` : open + close;
    return h("span", {}, h("span", { class: "json-count" }, sign), labelOf(value));
  }
  const kind = value === null ? "null" : isNumber(value) ? "number" : typeof value;
  if (kind !== "string") return h("span", { class: `json-${kind}` }, String(value));
  const text = JSON.stringify(value.slice(0, MAX_TEXT));
  const rest = value.length > MAX_TEXT ? h("span", { class: "json-count" }, ` … ${value.length.toLocaleString("en")} characters`) : null;
  return h("span", { class: "json-string" }, shown(text), rest);
}

/** Return how large a value may be to be unfolded at first: a list is, where it is short. */
function mostShown(value) {
  return Array.isArray(value) ? SHORT_LIST : SMALL;
}

/** What an object is called, beside its sign: its name, or a code or an id where it has none. */
function labelOf(value) {
  if (Array.isArray(value)) return null;
  const isLabel = (one) => (typeof one === "string" && one.trim() !== "") || isNumber(one);
  const found = LABELS.filter((name) => Object.hasOwn(value, name) && isLabel(value[name])).slice(0, 2);
  const text = found.map((name) => String(value[name])).join(" · ");
  const cut = text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL)}…` : text;
  return text ? h("span", { class: "json-label" }, " ", shown(cut)) : null;
}

function size(value) {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

function pathOf(node) {
  const steps = [];
  for (let one = node; one && one.name !== null && one.name !== undefined; one = one.above) steps.unshift(one.name);
  return steps.reduce((path, step) => path + stepText(step), "$");
}

function stepText(step) {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

/** Tell whether a value is seen at once, so that there is nothing to search. */
function isSmall(value) {
  if (!isFolder(value)) return true;
  return size(value) <= SEEN_AT_ONCE && !Object.values(value).some(isFolder);
}
