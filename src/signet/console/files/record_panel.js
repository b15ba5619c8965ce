// One record of the journal: how its call ended, its road, its fields, its arguments and answer where they are
// recorded, and the same call made again and compared.

import { get, post } from "./api.js";
import { copyButton, h, put, shown, tell } from "./dom.js";
import { outcomeOf } from "./record_list.js";
import { milliseconds } from "./road.js";

const SIGNS = { passed: "✓", failed: "✕", skipped: "–" };
const FIRST = [
  "requestId", "ts", "tool", "door", "caller", "code", "stage", "shadow", "durationMs", "inputBytes", "outputBytes",
  "transport", "route",
];
const SHADOW = "A contract was broken. Validation is \"shadow\" here: that is noted, and the call went on.";
const QUESTION = "This tool may change something. Call it again with the same arguments?";

/** Fill a place with one record, found by its requestId or seq; `onClose` is called when the person is done. */
export async function showRecord(place, key, app, onClose) {
  const title = h("h2", { tabindex: "-1" }, "Loading the record");
  const body = h("div", {});
  const close = h("button", { type: "button", class: "quiet", onclick: onClose }, "Close");
  put(place, h("div", { class: "row head" }, title, close), body);
  title.focus({ preventScroll: true });
  try {
    const [page, tree] = await Promise.all([get(`-/journal/${encodeURIComponent(key)}`), treeMaker()]);
    put(title, shown(page.tool || "(no tool)"));
    const known = page.record ? parts(page) : h("p", { class: "help" }, "Only the recording knows this call.");
    put(body, known, callPart(page, key, app, tree));
    return page;
  } catch (error) {
    put(title, "This record cannot be shown");
    put(body, h("p", { class: "failure", role: "alert" }, shown(error.message)));
    return null;
  }
}

/** Return the folding tree of JSON values; plain text where it cannot be loaded. */
async function treeMaker() {
  try {
    return (await import("./json_tree.js")).jsonTree;
  } catch {
    const names = { tabindex: "0", role: "region" };
    return (value, label) => h("pre", { ...names, "aria-label": label }, shown(JSON.stringify(value, null, 2)));
  }
}

function parts(page) {
  const record = page.record;
  const [word, kind] = outcomeOf(record);
  const how = record.error ? shown(record.error.message) : `in ${milliseconds(record.durationMs)}`;
  return [
    h("p", { class: "ending" }, h("span", { class: `code ${kind}` }, word), " ", how),
    record.shadow && h("p", { class: "note" }, SHADOW),
    h("h3", {}, "Road"),
    h("ol", { class: "road" }, page.road.map(stage)),
    h("details", {}, h("summary", {}, "All fields"), fields(record)),
  ];
}

function stage(one) {
  return h("li", { class: one.status },
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[one.status] ?? ""),
    h("span", { class: "name" }, one.name),
    " ",
    h("span", { class: "status" }, one.status),
    one.detail && [" ", h("span", { class: "detail" }, shown(one.detail))],
    one.place && [" ", h("span", { class: "detail" }, "at ", h("code", {}, shown(one.place)), one.keyword && [", keyword ", h("code", {}, shown(one.keyword))])],
  );
}

function fields(record) {
  const flat = { ...record, ...record.metadata, error: record.error ? JSON.stringify(record.error) : "" };
  delete flat.metadata;
  const names = [...FIRST, ...Object.keys(flat).filter((name) => !FIRST.includes(name))];
  const copy = (name) => name === "requestId" && [" ", copyButton(flat[name])];
  const line = (name) => [h("dt", {}, name), h("dd", {}, shown(String(flat[name] ?? "")), copy(name))];
  return h("dl", { class: "fields" }, names.map(line));
}

function callPart(page, key, app, tree) {
  const compared = h("div", { class: "compared", role: "status" });
  return [
    page.hasArguments && againPart(page, key, app, tree, compared),
    compared,
    h("h3", {}, "Arguments"),
    page.hasArguments ? tree(page.arguments, "Arguments") : h("p", { class: "help" }, page.why),
    page.answer && [h("h3", {}, "Recorded answer"), answer(page.answer, tree, "Recorded answer")],
  ];
}

function answer(given, tree, label) {
  if (given.ok) return tree(given.result, label);
  const error = given.error ? `${given.error.code}: ${given.error.message}` : "No answer was kept";
  return h("p", { class: "bad" }, shown(error));
}

/** The button that makes the call again; for a tool that may change something the person is asked first. */
function againPart(page, key, app, tree, compared) {
  const may = app.about.caller.mayCall && !page.why;
  const why = page.why || (app.about.caller.mayCall ? "" : "Your token may not call tools.");
  const place = h("div", { class: "again" });
  const run = () => callAgain(key, page, tree, compared, button);
  const onclick = () => (page.isReadOnly ? run() : ask(place, run, button));
  const told = { disabled: !may, "aria-describedby": why ? "again-why" : null };
  const button = h("button", { type: "button", ...told, onclick }, "Call again");
  return put(place, button, why && h("p", { class: "help", id: "again-why" }, why));
}

function ask(place, run, button) {
  const yes = h("button", { type: "button", onclick: () => (back(), run()) }, "Yes, call it");
  const no = h("button", { type: "button", class: "quiet", onclick: () => back() }, "Cancel");
  const buttons = h("div", { class: "row" }, yes, no);
  const names = { class: "note", role: "group", "aria-label": "Call again?" };
  const question = h("div", names, h("p", {}, QUESTION), buttons);
  const back = () => (question.remove(), (button.hidden = false), button.focus());
  button.hidden = true;
  place.append(question);
  no.focus();
}

async function callAgain(key, page, tree, compared, button) {
  if (button.getAttribute("aria-disabled") === "true") return;
  // A button that is disabled loses the focus, and with it the keys of the panel.
  button.setAttribute("aria-disabled", "true");
  put(compared, h("p", {}, "Calling"));
  try {
    const requestId = page.record?.requestId ?? key;
    const found = await post(`-/journal/${encodeURIComponent(requestId)}/replay`, { seq: page.record?.seq ?? "" });
    put(compared, comparison(found, tree));
    compared.scrollIntoView({ block: "nearest" });
    tell(found.equal ? "The answers agree" : "The answers differ");
  } catch (error) {
    put(compared, h("p", { class: "failure", role: "alert" }, shown(error.message)));
  }
  button.removeAttribute("aria-disabled");
}

function comparison(found, tree) {
  const count = found.differences.length + found.more;
  const places = `${count} ${count === 1 ? "place" : "places"}`;
  const verdict = found.equal
    ? h("p", { class: "good verdict" }, `✓ The answer is the same as the recorded one (${milliseconds(found.tookMs)}).`)
    : h("p", { class: "bad verdict" }, `✕ The answer differs from the recorded one in ${places}.`);
  return [
    h("h3", {}, "Compared"),
    verdict,
    !found.equal && differencesTable(found),
    h("details", {}, h("summary", {}, "The answer now"), answer(found.now, tree, "The answer now")),
  ];
}

function differencesTable(found) {
  const value = (text) => (text === null ? h("span", { class: "help" }, "absent") : h("code", {}, shown(text)));
  const row = (one) => h("tr", {},
    h("th", { scope: "row" }, h("code", {}, shown(one.path || "(all)"))),
    h("td", {}, value(one.then)),
    h("td", {}, value(one.now)),
  );
  const rows = found.differences.map(row);
  const heads = ["Place", "Then", "Now"].map((title) => h("th", { scope: "col" }, title));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences" },
    h("table", { class: "differences" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
    found.more > 0 && h("p", { class: "help" }, `${found.more} further differences are not shown.`));
}
