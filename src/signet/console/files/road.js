// The road of a call: its stages in order, each with its sign, its word and its time, and bars on one time axis.

import { h, put, shown } from "./dom.js";
import { useSheet } from "./sheet.js";

const SIGNS = { passed: "✓", failed: "✗", skipped: "–" };
const UPSTREAM = "upstream";

const MAX_SEEN = 5;

/** Draw the stages that `/-/call` tells; the requests to upstreams stand below the tool. */
export function drawRoad(place, road) {
  useSheet("call.css");
  const whole = Math.max(...road.map((step) => step.startMs + step.tookMs), 0.001);
  const list = h("ol", { class: "road", "aria-label": "The road of the call" });
  const requests = [];
  for (const step of road) {
    if (step.name === UPSTREAM) {
      if (!requests.length) list.lastChild.append(h("ol", { class: "attempts", "aria-label": "Requests to upstreams" }));
      requests.push(step);
    } else {
      list.append(item(step, step.name, whole));
    }
  }
  const below = list.querySelector(".attempts");
  if (below) fillRequests(below, requests, whole);
  put(place, h("div", { class: "road-box" }, axis(whole), list));
}

/** Write the requests to upstreams; more than a few are folded. */
function fillRequests(place, requests, whole) {
  const names = namesOf(requests);
  const items = requests.map((step, at) => item(step, names[at], whole));
  place.append(...items.slice(0, MAX_SEEN));
  const more = items.slice(MAX_SEEN);
  if (!more.length) return;
  const words = `${more.length} more ${more.length === 1 ? "request" : "requests"}`;
  const rest = h("ol", { class: "attempts", start: String(MAX_SEEN + 1), "aria-label": "Further requests to upstreams" }, more);
  place.after(h("details", { open: requests.slice(MAX_SEEN).some((step) => step.status === "failed") }, h("summary", {}, words), rest));
}

/** Name requests by their number; one that follows a failure of the same is a further attempt. */
function namesOf(requests) {
  const target = (step) => step.detail.slice(0, step.detail.lastIndexOf(", "));
  let [number, attempt] = [0, 1];
  return requests.map((step, at) => {
    if (step.status === "skipped") return "upstream";
    const before = requests[at - 1];
    const isRetry = before?.status === "failed" && target(before) === target(step);
    [number, attempt] = isRetry ? [number, attempt + 1] : [number + 1, 1];
    return attempt > 1 ? `request ${number}, attempt ${attempt}` : `request ${number}`;
  });
}

function item(step, name, whole) {
  const bar = h("span", { class: "bar" });
  bar.style.marginLeft = `${(100 * step.startMs) / whole}%`;
  bar.style.width = `${Math.max(0.4, (100 * step.tookMs) / whole)}%`;
  const time = step.status === "skipped" && step.tookMs === 0 ? "" : milliseconds(step.tookMs);
  return h("li", { class: step.status },
    h("div", { class: "stage" },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[step.status]),
      h("span", { class: "name" }, name), " ",
      h("span", { class: "status" }, step.status), " ",
      h("span", { class: "time" }, time),
      h("span", { class: "track", "aria-hidden": "true" }, time && bar)),
    step.detail && h("p", { class: "detail" }, shown(step.detail)),
    step.place !== null && where(step));
}

/** The exact place of a failure, with its keyword and value. */
function where(step) {
  return h("dl", { class: "where" },
    h("div", {}, h("dt", {}, "place"), h("dd", {}, h("code", {}, shown(step.place)))),
    step.keyword && h("div", {}, h("dt", {}, "keyword"), h("dd", {}, h("code", {}, shown(step.keyword)))),
    step.value && h("div", {}, h("dt", {}, "value"), h("dd", {}, h("code", {}, shown(step.value)))));
}

function axis(whole) {
  return h("div", { class: "axis", "aria-hidden": "true" }, h("span", {}, "0 ms"), h("span", {}, milliseconds(whole)));
}

/** Return a time as people read it. */
export function milliseconds(time) {
  if (time >= 1000) return `${(time / 1000).toFixed(2)} s`;
  return `${time >= 100 ? Math.round(time) : time >= 1 ? time.toFixed(1) : time.toFixed(2)} ms`;
}
