// What became of a call: the result as people want it, the JSON of it one click away, and the road that it took.

import { copyButton, h, put, save, shown } from "./dom.js";
import { jsonTree } from "./json_tree.js";
import { drawRoad, milliseconds } from "./road.js";
import { useSheet } from "./sheet.js";

const MAX_RAW = 300_000;

/** Show the answer of `/-/call` in a place. */
export function showCall(place, answer, app) {
  useSheet("call.css");
  const road = h("div", {});
  put(place,
    h("section", { class: "call", "aria-label": "Result" },
      heading(answer),
      answer.ok ? result(answer, app) : failure(answer),
      h("h3", {}, "Road"), road));
  drawRoad(road, answer.road);
}

function heading(answer) {
  const facts = [milliseconds(answer.tookMs), answer.ok && bytes(answer.resultBytes), answer.requestId && `request ${answer.requestId}`];
  return h("div", { class: "call-head" },
    h("h2", {}, h("span", { class: answer.ok ? "good" : "bad" }, answer.ok ? "✓ Passed" : "✗ Failed")),
    h("p", { class: "help" }, facts.filter(Boolean).join(" · ")));
}

function failure(answer) {
  const { error } = answer;
  return h("div", { class: "failure", role: "alert" },
    h("p", {}, h("strong", {}, shown(error.code)), error.name !== error.code && [" ", h("code", {}, shown(error.name))], ` · HTTP ${error.status}`),
    h("p", {}, shown(error.message)),
    answer.places.length > 0 && h("ul", { class: "places" }, answer.places.map(placeOf)));
}

function placeOf(one) {
  const path = one.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("").replace(/^\./, "");
  return h("li", {}, h("code", {}, shown(path || "$")), ": ", shown(one.message), one.keyword && [" (", h("code", {}, shown(one.keyword)), ")"]);
}

/** The ways to look at a result, with buttons to choose one. */
function result(answer, app) {
  const text = () => JSON.stringify(answer.result, null, 2);
  const views = { ...readable(answer, app), Tree: (at) => put(at, jsonTree(answer.result, "Result")), "Raw JSON": (at) => raw(at, text()) };
  const place = h("div", { class: "result" });
  const buttons = Object.entries(views).map(([name, draw]) =>
    h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: (event) => choose(event.currentTarget, draw) }, name));
  const choose = (button, draw) => {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
    draw(place);
  };
  choose(buttons[0], Object.values(views)[0]);
  return h("div", {},
    h("div", { class: "row call-tools" }, h("div", { class: "row", role: "group", "aria-label": "Show the result as" }, buttons),
      copyButton(text), h("button", { type: "button", class: "quiet", onclick: () => save(`${answer.tool}.json`, text(), "application/json") }, "Save")),
    answer.view.kind === "json" && answer.view.note && h("p", { class: "note" }, shown(answer.view.note)),
    place);
}

/** Return the way in which people want to read a result, by its name; none for plain JSON. */
function readable(answer, app) {
  const { view } = answer;
  const ways = {
    markdown: ["Page", (at) => later(at, import("./page.js"), (module) => module.showPage(at, view.html))],
    series: ["Chart", (at) => later(at, import("./series.js"), (module) => module.showSeries(at, view, app))],
    diagram: ["Diagram", (at) => later(at, import("./picture.js"), (module) => module.showDiagram(at, view, answer.result))],
  };
  return ways[view.kind] ? Object.fromEntries([ways[view.kind]]) : {};
}

/** Draw with a module that has to be loaded; without it the tree is shown elsewhere. */
async function later(place, loading, draw) {
  put(place, h("p", { class: "help" }, "Loading"));
  try {
    draw(await loading);
  } catch (error) {
    put(place, h("p", { class: "failure" }, "This cannot be drawn: ", shown(error.message)));
  }
}

function raw(place, text) {
  const pre = h("pre", { tabindex: "0", role: "region", "aria-label": "Raw JSON", class: "raw" }, h("code", {}, shown(text.slice(0, MAX_RAW))));
  const cut = text.length > MAX_RAW && h("p", { class: "help" }, `The first ${MAX_RAW.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters; save the file to read all.`);
  put(place, pre, cut);
}

/** Return a size as people read it. */
export function bytes(count) {
  if (count >= 1_048_576) return `${(count / 1_048_576).toFixed(1)} MB`;
  return count >= 1024 ? `${(count / 1024).toFixed(1)} KB` : `${count} bytes`;
}
