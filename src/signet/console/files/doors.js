// The same call through every door of the server, side by side, and where the answers differ.

import { get, post } from "./api.js";
import { codeBlock, h, put, shown, tell } from "./dom.js";
import { milliseconds } from "./road.js";
import { useSheet } from "./sheet.js";

/** Make a call through every door and show the answers; for a tool that may change something, ask first. */
export async function showDoors(place, tool, args) {
  useSheet("call.css");
  const { calls, isReadOnly } = await get(`-/doors/${encodeURIComponent(tool)}`);
  if (isReadOnly) return compare(place, tool, args);
  const ask = h("div", { class: "note", role: "alertdialog", "aria-label": "Before the calls" },
    h("p", {}, `This makes ${calls} calls. `, h("code", {}, shown(tool)), " does not say that it only reads: each call may change something."),
    h("div", { class: "row" },
      h("button", { type: "button", onclick: () => compare(place, tool, args) }, `Make ${calls} calls`),
      h("button", { type: "button", class: "quiet", onclick: () => put(place) }, "Cancel")));
  ask.addEventListener("keydown", (event) => event.key === "Escape" && put(place));
  put(place, ask);
  ask.querySelector("button").focus();
}

async function compare(place, tool, args) {
  put(place, h("p", { class: "help", role: "status" }, "Calling through every door"));
  try {
    const found = await post("-/doors", { tool, arguments: args });
    put(place, verdict(found), table(found), differences(found));
    tell(found.agrees ? "All doors agree" : "The doors differ");
  } catch (error) {
    put(place, h("p", { class: "failure", role: "alert" }, shown(error.message)));
  }
}

function verdict(found) {
  const changed = found.differences.some((one) => one.cause === "call");
  return h("p", {},
    found.agrees
      ? h("strong", { class: "good" }, `✓ All ${found.doors.length} doors agree`)
      : h("strong", { class: "bad" }, "✗ The doors differ"),
    h("span", { class: "help" }, `: ${found.outcome}${changed ? "; the calls themselves had different outcomes" : ""}`));
}

function table(found) {
  const heads = ["Door", "Agrees", "Outcome", "HTTP status", "Time", "Bytes"].map((head, index) =>
    h("th", { scope: "col", class: index > 3 ? "number" : null }, head));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Doors" },
    h("table", { class: "doors" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, found.doors.flatMap(rows))));
}

function rows(door) {
  return [
    h("tr", {},
      h("th", { scope: "row" }, door.name),
      h("td", { class: door.agrees ? "good" : "bad" }, door.agrees ? "✓ yes" : "✗ no"),
      h("td", {}, shown(door.outcome)),
      h("td", {}, door.status === null ? "–" : String(door.status)),
      h("td", { class: "number" }, milliseconds(door.tookMs)),
      h("td", { class: "number" }, door.wireBytes.toLocaleString("en"))),
    h("tr", { class: "wire" }, h("td", { colspan: "6" }, wire(door))),
  ];
}

/** The answer as on the wire, folded; it is written when it is first unfolded. */
function wire(door) {
  const details = h("details", {}, h("summary", {}, `On the wire: ${door.name}`));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    details.append(codeBlock(door.wire, `On the wire: ${door.name}`));
    if (door.isCut) details.append(h("p", { class: "help" }, "Only the beginning is shown."));
  });
  return details;
}

function differences(found) {
  if (!found.differences.length) return null;
  const line = (one) => h("tr", {},
    h("th", { scope: "row" }, one.door),
    h("td", {}, one.cause === "door" ? "door" : "call"),
    h("td", {}, h("code", {}, shown(one.path))),
    h("td", {}, h("code", {}, shown(one.expected))),
    h("td", {}, h("code", {}, shown(one.found))));
  const heads = ["Door", "Cause", "Path", "Expected", "Found"].map((head) => h("th", { scope: "col" }, head));
  return h("div", {},
    h("h4", {}, "Differences"),
    h("p", { class: "help" }, "Cause “door”: the client reads something else than the outcome of its call. Cause “call”: the tool itself answered differently, as with a time in its result."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences" },
      h("table", { class: "differences" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, found.differences.map(line)))));
}
