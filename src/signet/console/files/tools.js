// The view "tools": the catalogue with its search, and the page of one tool where the address names one.

import { get } from "./api.js";
import { h, put, shown } from "./dom.js";
import { marks, showTool } from "./tool_page.js";

export async function show(place, rest, app) {
  if (rest[0]) return showTool(place, rest[0], rest.slice(1).join("/"), app);
  return showCatalogue(place, (await get("-/tools")).toolsets);
}

function showCatalogue(place, toolsets) {
  const total = toolsets.reduce((sum, toolset) => sum + toolset.tools.length, 0);
  const input = h("input", {
    id: "search", type: "search", autocomplete: "off", spellcheck: "false",
    "aria-describedby": "search-help", "aria-controls": "catalogue",
  });
  const found = h("p", { class: "help", role: "status" });
  const nothing = h("p", { hidden: true }, "No tool has these words in its name, title or description.");
  const groups = toolsets.map((toolset, index) => toolsetGroup(toolset, `toolset-${index + 1}`));
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const count = groups.reduce((sum, group) => sum + group.filter(words), 0);
    put(found, words.length ? `${count} of ${total} tools` : `${total} tools`);
    nothing.hidden = count > 0;
  };
  input.addEventListener("input", draw);
  const list = h("div", { id: "catalogue" }, groups.map((group) => group.element), nothing);
  put(place,
    h("h1", {}, "Tools"),
    h("div", { class: "search" },
      h("label", { for: "search" }, "Search"), input, found,
      h("p", { id: "search-help", class: "help keys" }, "Press ", key("/"), " to search, ", key("↓"),
        " to go through what is found, ", key("Enter"), " to open.")),
    list);
  draw();
  return useKeys(place, input, list, draw);
}

const key = (name) => h("kbd", {}, name);

function toolsetGroup(toolset, id) {
  const cards = toolset.tools.map((tool) => ({
    text: `${tool.name} ${tool.title} ${tool.description}`.toLowerCase(),
    element: h("li", { class: "card tool" },
      h("a", { class: "mono tool-link", href: `#/tools/${encodeURIComponent(tool.name)}` }, shown(tool.name)),
      h("p", { class: "title" }, shown(tool.title)),
      h("p", { class: "description" }, shown(tool.description)),
      marks(tool)),
  }));
  const element = h("section", { "aria-labelledby": id },
    h("h2", { id }, shown(toolset.title), " ", h("span", { class: "count" }, `${cards.length}`)),
    h("ul", { class: "cards" }, cards.map((card) => card.element)));
  const filter = (words) => {
    let count = 0;
    for (const card of cards) {
      card.element.hidden = !words.every((word) => card.text.includes(word));
      count += card.element.hidden ? 0 : 1;
    }
    element.hidden = count === 0;
    return count;
  };
  return { element, filter };
}

/** Return the link that a search means most: the first whose name has its words, else the first. */
function best(input, links) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  return links.find((link) => words.every((word) => link.textContent.toLowerCase().includes(word))) ?? links[0];
}

/** Let the keyboard go to the search and through what it found; return what takes the keys away again. */
function useKeys(place, input, list, draw) {
  const links = () => [...list.querySelectorAll("a.tool-link")].filter((link) => link.offsetParent !== null);
  const slash = (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    input.focus();
    input.select();
  };
  place.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = links();
    const at = all.indexOf(event.target);
    if (event.target === input && event.key === "Enter") {
      if (input.value.trim()) best(input, all)?.click();
    } else if (event.target === input && event.key === "Escape") {
      input.value = "";
      draw();
    } else if (step && (at >= 0 || event.target === input)) {
      event.preventDefault();
      (at + step < 0 ? input : all[Math.min(at + step, all.length - 1)])?.focus();
    }
  });
  document.addEventListener("keydown", slash);
  return () => document.removeEventListener("keydown", slash);
}
