// What is configured and from where, with a field that leaves out what is not looked for.

import { h, put, shown } from "./dom.js";

/** Return the section of the settings. */
export function settingsTable(settings) {
  const rows = settings.map((setting) => ({ element: settingRow(setting), text: textOf(setting) }));
  const count = h("span", { class: "help", role: "status" }, countOf(rows.length, rows.length));
  const field = h("input", { id: "settings-filter", type: "search", autocomplete: "off", spellcheck: "false" });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.element.hidden = !words.every((word) => row.text.includes(word));
    put(count, countOf(rows.filter((row) => !row.element.hidden).length, rows.length));
  });
  const head = ["Setting", "Value", "Origin"].map((title) => h("th", { scope: "col" }, title));
  const body = h("tbody", {}, rows.map((row) => row.element));
  const caption = h("caption", { class: "hidden" }, "Settings");
  const table = h("table", { class: "settings" }, caption, h("thead", {}, h("tr", {}, head)), body);
  return h(
    "section", { "aria-label": "Configuration" },
    h("h2", {}, "Configuration"),
    h("p", { class: "row" }, h("label", { for: "settings-filter" }, "Filter settings"), field, count),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings" }, table),
  );
}

function countOf(some, all) {
  return some === all ? `${all} settings` : `${some} of ${all} settings`;
}

function textOf({ name, value, origin }) {
  return `${name} ${JSON.stringify(value)} ${origin}`.toLowerCase();
}

function settingRow({ name, value, isHidden, origin }) {
  const from = h("td", { class: origin === "default" && "help" }, shown(origin));
  return h("tr", {}, h("td", {}, h("code", {}, shown(name))), h("td", {}, valueNode(value, isHidden)), from);
}

function valueNode(value, isHidden) {
  if (isHidden) return h("em", {}, "set, not shown");
  if (value === null || value === "") return h("span", { class: "help" }, "not set");
  return h("code", {}, shown(typeof value === "string" ? value : JSON.stringify(value)));
}
