// Series as files: CSV as RFC 4180 has it, and the picture of the chart as PNG.

import { stopsOf } from "./curve.js";
import { h, save, shown, tell } from "./dom.js";
import { lookOf, paint, paletteOf } from "./plot.js";
import { labelOf } from "./readout.js";

const ROWS_AT_ONCE = 4000;
const PNG_WIDTH = 1200, PNG_HEIGHT = 600, PNG_RATIO = 2, PNG_FONT = 13;

/** Save all points of a chart: a line of codes, one of names and one of units, then a line for each x. */
export async function saveCsv(chart) {
  const parts = [];
  for await (const part of csvParts(chart.curves, chart.isTime, chart.isLocal)) parts.push(part);
  save(`${chart.download}.csv`, new Blob(parts, { type: "text/csv;charset=utf-8" }));
  tell("Saved as CSV");
}

/** Yield the lines of the CSV in pieces, so that the page stays alive between them. */
export async function* csvParts(curves, isTime, isLocal) {
  const head = (label, texts) => [label, ...texts.map(cell)].join(",");
  yield [
    head(isTime ? "period" : "x", curves.map((curve) => curve.code)),
    head("name", curves.map((curve) => curve.name)),
    head("unit", curves.map((curve) => curve.unit)),
  ].join("\r\n") + "\r\n";
  const stops = stopsOf(curves);
  const places = curves.map(() => 0);
  for (let from = 0; from < stops.length; from += ROWS_AT_ONCE) {
    const lines = [];
    for (const x of stops.subarray(from, from + ROWS_AT_ONCE)) {
      const values = curves.map((curve, at) => valueAt(curve, places, at, x));
      lines.push(`${isTime ? timeText(x, isLocal) : x},${values.join(",")}\r\n`);
    }
    yield lines.join("");
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Return the value of a curve at x as text; the places move on as x grows. */
function valueAt(curve, places, at, x) {
  while (places[at] < curve.length && curve.xs[places[at]] < x) places[at]++;
  const y = curve.xs[places[at]] === x ? curve.ys[places[at]] : NaN;
  return Number.isNaN(y) ? "" : String(y);
}

function timeText(x, isMoment) {
  const iso = new Date(x).toISOString();
  return isMoment ? iso : iso.slice(0, iso.indexOf("T"));
}

/** Return a text as a cell: quoted where needed, and never one that a spreadsheet takes for a formula. */
export function cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Save the picture of what is seen, with title, units, axes and legend. */
export async function savePng(chart) {
  const blob = await new Promise((resolve) => picture(chart).toBlob(resolve, "image/png"));
  save(`${chart.download}.png`, blob);
  tell("Saved as PNG");
}

function picture(chart) {
  const palette = paletteOf(chart.figure);
  const canvas = h("canvas");
  const context = canvas.getContext("2d");
  const font = (size, weight = "") => (context.font = `${weight} ${size}px ${palette.sans}`);
  font(PNG_FONT);
  const entries = wrap(context, chart.drawn, PNG_WIDTH - 2 * PNG_FONT);
  const line = PNG_FONT * 1.6;
  const head = PNG_FONT + (chart.title ? 2 * PNG_FONT : 0) + entries.lines * line + line;
  canvas.width = PNG_WIDTH * PNG_RATIO;
  canvas.height = Math.round((head + PNG_HEIGHT) * PNG_RATIO);
  context.scale(PNG_RATIO, PNG_RATIO);
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, PNG_WIDTH, head + PNG_HEIGHT);
  context.fillStyle = palette.ink;
  font(PNG_FONT * 1.3, "600");
  if (chart.title) context.fillText(fit(context, seen(chart.title), PNG_WIDTH - 2 * PNG_FONT), PNG_FONT, PNG_FONT * 2);
  font(PNG_FONT);
  paintLegend(context, entries, chart.title ? PNG_FONT * 4 : PNG_FONT * 2, line, palette);
  if (!chart.isEmpty && chart.drawn.length > 0) paintPlot(context, chart, head, palette);
  return canvas;
}

function paintPlot(context, chart, head, palette) {
  const frame = chart.arrange(PNG_WIDTH, PNG_HEIGHT - PNG_FONT, PNG_FONT, (text) => context.measureText(text).width);
  context.translate(0, head);
  paint(context, frame, palette);
  context.fillStyle = palette.soft;
  context.textAlign = "center";
  for (const tick of frame.xTicks) context.fillText(tick.text, frame.x(tick.value), frame.bottom + PNG_FONT * 1.5);
  frame.axes.forEach((axis, at) => {
    context.textAlign = at ? "right" : "left";
    const unit = fit(context, seen(axis.unit), PNG_WIDTH / 2 - PNG_FONT);
    context.fillText(unit, at ? PNG_WIDTH - PNG_FONT : PNG_FONT, -PNG_FONT * 0.4);
    context.textAlign = at ? "left" : "right";
    const x = at ? frame.right + PNG_FONT * 0.5 : frame.left - PNG_FONT * 0.5;
    for (const tick of axis.ticks) context.fillText(tick.text, x, axis.y(tick.value) + PNG_FONT * 0.35);
  });
}

/** Return the places of the legend's entries, in as many lines as they need. */
function wrap(context, curves, width) {
  const entries = [];
  let x = 0, lines = 1;
  for (const curve of curves) {
    const text = fit(context, seen(labelOf(curve) || "series"), width - 40);
    const wide = context.measureText(text).width + 52;
    if (x > 0 && x + wide > width) [x, lines] = [0, lines + 1];
    entries.push({ curve, text, x, line: lines - 1 });
    x += wide;
  }
  return { entries, lines };
}

function paintLegend(context, { entries }, top, height, palette) {
  for (const { curve, text, x, line } of entries) {
    const look = lookOf(curve.number, palette);
    const left = PNG_FONT + x, y = top + line * height;
    context.strokeStyle = look.colour;
    context.lineWidth = look.width + 0.5;
    context.setLineDash(look.dashes);
    context.beginPath();
    context.moveTo(left, y - PNG_FONT * 0.35);
    context.lineTo(left + 26, y - PNG_FONT * 0.35);
    context.stroke();
    context.fillStyle = palette.ink;
    context.fillText(text, left + 32, y);
  }
}

/** Return a text with its unseen characters named. */
function seen(text) {
  return h("span", {}, shown(text)).textContent;
}

/** Return a text, cut where it is too wide. */
function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}
