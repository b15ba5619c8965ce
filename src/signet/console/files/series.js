// The result of a call as series: a chart with its table and files, and what was left out.

import { drawChart } from "./chart.js";
import { h, put, shown } from "./dom.js";

/** Show a view of the kind "series" in a place; return {update(series), destroy()}. */
export function showSeries(place, view) {
  const room = h("div");
  put(place, view.note && h("p", { class: "note" }, shown(view.note)), room);
  return drawChart(room, { title: view.title, series: view.series, x: "time", download: fileName(view) });
}

/** Return a plain name for the files: the codes of the series, or the title. */
function fileName(view) {
  const text = view.series.map((one) => one.code).filter(Boolean).slice(0, 3).join("_") || view.title || "series";
  return text.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 80) || "series";
}
