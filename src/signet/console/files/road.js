// The road of a call: its stages in order, each with its sign, its word and its time, and bars on one time axis.

import { h, put, shown } from "./dom.js";
import { useSheet } from "./sheet.js";

const SIGNS = { passed: "✓", failed: "✗", skipped: "–" };
const UPSTREAM = "upstream";

/** Draw the stages that `/-/call` tells; the attempts to reach an upstream stand below the tool. */
export function drawRoad(place, road) {
  useSheet("call.css");
  const whole = Math.max(...road.map((step) => step.startMs + step.tookMs), 0.001);
  const list = h("ol", { class: "road", "aria-label": "The road of the call" });
  let attempts = null;
  let count = 0;
  for (const step of road) {
    if (step.name !== UPSTREAM) {
      list.append(item(step, step.name, whole));
      attempts = null;
      continue;
    }
    if (!attempts) {
      attempts = h("ol", { class: "attempts", "aria-label": "Requests to upstreams" });
      list.lastChild.append(attempts);
    }
    const skipped = step.status === "skipped";
    count += skipped ? 0 : 1;
    attempts.append(item(step, skipped ? "upstream" : `upstream, attempt ${count}`, whole));
  }
  put(place, h("div", { class: "road-box" }, axis(whole), list));
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
