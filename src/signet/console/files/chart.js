// A chart of our own: curves on a canvas, axes as text, a crosshair for mouse, finger and keyboard, zoom, log axis.

import { ChartInput } from "./chart_input.js";
import { Curve, stopsOf } from "./curve.js";
import { h, put, s, shown } from "./dom.js";
import { Legend } from "./legend.js";
import { layout, paint, paletteOf } from "./plot.js";
import { Readout } from "./readout.js";
import { areDays, exact, periodText } from "./scale.js";

const HELP = "Arrow keys read values, Home and End go to the ends, plus and minus zoom, Escape resets. "
  + "With a mouse: drag, or Ctrl and the wheel, to zoom.";
const MAX_RATIO = 3;
let count = 0;
let styled = null;

/** Draw a chart into a place; return {update(series), destroy()}. See `Chart` for the options. */
export function drawChart(place, options) {
  const chart = new Chart(options);
  put(place, chart.figure);
  styled ??= new Promise((resolve) => {
    const href = new URL("chart.css", import.meta.url).href;
    document.head.append(h("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve }));
  });
  styled.then(() => chart.open());
  return { update: (series) => chart.update(series), destroy: () => chart.destroy() };
}

/**
 * A chart: `title`, `series` of {name, unit, points, code?, frequency?}, `x` as time or number, `log`, `height` in
 * pixels, `download`, the name of the files that people save, without its ending.
 */
export class Chart {
  constructor({ title = "", series, x = "time", log = false, height = 0, download = "" }) {
    Object.assign(this, { title, height, download, isTime: x === "time", isLog: log });
    Object.assign(this, { view: null, stop: NaN, frame: null, rows: null, isGone: false });
    this.id = `chart-${++count}`;
    this.palette = paletteOf(document.body);
    this.readout = new Readout();
    this.legend = new Legend(this.id, () => {
      this.stops = null;
      this.draw();
    });
    this.buildPlot();
    this.buildTools();
    this.build();
    this.take(series);
    this.input = new ChartInput(this);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => (this.frame && !this.figure.isConnected ? this.destroy() : this.restyle());
    this.observer = new ResizeObserver(() => this.draw());
  }

  buildPlot() {
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.labels = s("g");
    this.band = s("rect", { class: "chart-band", visibility: "hidden", y: 0 });
    const marks = [this.labels, this.band, this.readout.marks];
    this.overlay = s("svg", { class: "chart-overlay", "aria-hidden": "true" }, marks);
    this.plot = h("div", {
      class: "chart-plot", tabindex: "0", role: "application", "aria-roledescription": "chart",
      "aria-describedby": `${this.id}-help`,
    }, this.canvas, this.overlay);
    this.stage = h("div", { class: "chart-stage" }, this.plot, this.readout.box);
    if (this.height) this.plot.style.height = `${this.height}px`;
  }

  buildTools() {
    const button = (text, onclick, more) => h("button", { type: "button", class: "quiet", onclick, ...more }, text);
    this.logButton = button("Log axis", () => this.setLog(!this.isLog), { "aria-pressed": String(this.isLog) });
    this.tableButton = button("Table", () => this.turnTable(), { "aria-expanded": "false" });
    this.zoomed = [
      button("Earlier", () => this.pan(-0.5)), button("Later", () => this.pan(0.5)),
      button("Reset zoom", () => this.reset()),
    ];
    this.tools = h("div", { class: "chart-tools row" },
      this.logButton, button("Zoom in", () => this.zoom(0.5)), button("Zoom out", () => this.zoom(2)), this.tableButton,
      this.download && [button("CSV", () => this.save("saveCsv")), button("PNG", () => this.save("savePng"))],
      this.zoomed);
  }

  build() {
    this.unitTexts = h("div", { class: "chart-units" });
    this.note = h("p", { class: "help chart-note", role: "status" });
    this.table = h("div", { hidden: true });
    this.figure = h("figure", { class: "chart" },
      this.title && h("figcaption", {}, shown(this.title)), this.legend.buttons, this.legend.choice, this.unitTexts,
      this.stage, h("p", { class: this.height ? "chart-hidden" : "help chart-help", id: `${this.id}-help` }, HELP),
      this.note, this.readout.spoken, this.tools, this.table);
  }

  open() {
    if (this.isGone) return;
    this.restyle();
    this.scheme.addEventListener("change", this.onScheme);
    this.observer.observe(this.plot);
  }

  destroy() {
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.onScheme);
    cancelAnimationFrame(this.drawing);
    this.isGone = true;
  }

  /** Show other points; what is hidden, the zoom and the crosshair stay. */
  update(series) {
    this.take(series);
    this.draw();
    this.rows?.take(this.curves);
  }

  take(series) {
    this.curves = series.map((one, number) => new Curve(one, number));
    const filled = this.curves.filter((curve) => curve.length > 0);
    this.isEmpty = filled.length === 0;
    this.first = Math.min(...filled.map((curve) => curve.xs[0]));
    this.last = Math.max(...filled.map((curve) => curve.xs.at(-1)));
    this.isLocal = this.isTime && !filled.every((curve) => areDays(curve.xs));
    this.stops = null;
    this.legend.take(this.curves, this.palette);
    if (this.view && !(this.view[0] >= this.first && this.view[1] <= this.last)) this.look(...this.view);
    const total = exact(filled.reduce((sum, curve) => sum + curve.length, 0));
    const text = (x) => (this.isTime ? periodText(x, filled[0].frequency, this.isLocal) : exact(x));
    const range = this.isEmpty ? "no points" : `${total} points, ${text(this.first)} to ${text(this.last)}`;
    const title = h("span", {}, shown(this.title || "Chart")).textContent;
    this.plot.setAttribute("aria-label", `${title}: ${series.length} series, ${range}`);
  }

  /** Read the colours again. */
  restyle() {
    this.palette = paletteOf(document.body);
    this.legend.draw(this.palette);
    this.draw();
  }

  get drawn() {
    return this.legend.drawn;
  }

  /** Return every x that has a point. */
  get allStops() {
    return (this.stops ??= stopsOf(this.drawn));
  }

  /** Return the ends of what is seen. */
  get ends() {
    const [from, to] = this.view ?? [this.first, this.last];
    return from < to ? [from, to] : [from - 1, to + 1];
  }

  /** Draw with the next frame, once, however often this is asked for. */
  draw() {
    if (this.isGone || !this.figure.isConnected) return;
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.drawNow());
  }

  /** Draw now what waits for its frame: a key that comes before it speaks of what was asked for. */
  settle() {
    if (!this.drawing) return;
    cancelAnimationFrame(this.drawing);
    this.drawNow();
  }

  /** Return the layout for a size. */
  arrange(width, height, fontPx, textWidth) {
    const [from, to] = this.ends;
    const { drawn: curves, isTime, isLocal, isLog } = this;
    const units = this.legend.units.filter((unit) => curves.some((curve) => curve.unit === unit));
    return layout({ curves, units, from, to, isTime, isLocal, isLog, width, height, fontPx, textWidth });
  }

  drawNow() {
    this.drawing = 0;
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (!width || !height || this.isGone) return;
    const fontPx = parseFloat(getComputedStyle(this.overlay).fontSize);
    const context = this.canvas.getContext("2d");
    const ratio = Math.min(devicePixelRatio || 1, MAX_RATIO);
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    // A canvas takes new memory whenever it is given a size.
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${fontPx}px ${this.palette.sans}`;
    const isBlank = this.isEmpty || this.drawn.length === 0;
    this.frame = isBlank ? null : this.arrange(width, height, fontPx, (text) => context.measureText(text).width);
    if (this.frame) paint(context, this.frame, this.palette);
    this.write();
  }

  /** Write what is text: the ticks, the units and what has to be said. */
  write() {
    const { frame } = this;
    const notes = [];
    if (!frame) notes.push(this.isEmpty ? "There are no points." : "All series are hidden.");
    if (frame?.leftOut) notes.push(`The log axis leaves out ${exact(frame.leftOut)} values at or below 0.`);
    if (frame?.axes.some((axis) => axis.isEmpty)) notes.push("A series has no value in this span.");
    const text = notes.join(" ");
    if (this.note.textContent !== text) this.note.textContent = text;
    put(this.labels, frame && tickTexts(frame));
    put(this.unitTexts, frame && frame.axes.map((axis) => h("span", {}, shown(axis.unit))));
    for (const button of this.zoomed) button.hidden = this.view === null;
    if (frame && this.stop >= frame.x.from && this.stop <= frame.x.to) this.point(this.stop);
    else this.readout.hide();
  }

  /** Put the crosshair at a place on the x axis. */
  point(x, isSpoken = false) {
    this.stop = x;
    const { isTime, isLocal } = this;
    if (this.frame) this.readout.show(x, this.frame, this.palette, { isTime, isLocal, isSpoken });
  }

  hidePoint() {
    this.stop = NaN;
    this.readout.hide();
  }

  setLog(isLog) {
    this.isLog = isLog;
    this.logButton.setAttribute("aria-pressed", String(isLog));
    this.draw();
  }

  /** Make the seen span so many times as long, around a place on the x axis. */
  zoom(factor, around = Number.isNaN(this.stop) ? (this.ends[0] + this.ends[1]) / 2 : this.stop) {
    const [from, to] = this.ends;
    this.look(around - (around - from) * factor, around + (to - around) * factor);
  }

  pan(part) {
    const [from, to] = this.ends;
    const by = Math.min(Math.max((to - from) * part, this.first - from), this.last - to);
    this.look(from + by, to + by);
  }

  /** See a span of the x axis: never less than three steps, never more than there is. */
  look(from, to) {
    const least = ((this.last - this.first) / Math.max(this.allStops.length - 1, 1)) * 3;
    if (to - from < least) [from, to] = [(from + to - least) / 2, (from + to + least) / 2];
    if (!(to - from < this.last - this.first)) this.view = null;
    else {
      const by = Math.max(this.first - from, 0) + Math.min(this.last - to, 0);
      this.view = [from + by, to + by];
    }
    this.draw();
  }

  /** See all of it again. A button that goes gives the focus to the plot. */
  reset() {
    if (this.zoomed.includes(document.activeElement)) this.plot.focus();
    this.view = null;
    this.draw();
  }

  /** Show the values as a table, or take it away. */
  async turnTable() {
    const { SeriesTable } = await import("./series_table.js");
    this.rows = this.rows ? null : new SeriesTable(this.title, this.isTime, this.isLocal);
    put(this.table, this.rows?.element);
    this.table.hidden = !this.rows;
    this.rows?.take(this.curves);
    this.tableButton.setAttribute("aria-expanded", String(Boolean(this.rows)));
  }

  /** Save the values or the picture as a file. */
  async save(how) {
    await (await import("./series_files.js"))[how](this);
  }
}

function tickTexts(frame) {
  const { fontPx } = frame;
  const texts = frame.xTicks.map((tick) => {
    const x = frame.x(tick.value);
    const anchor = x < fontPx * 3 ? "start" : x > frame.width - fontPx * 3 ? "end" : "middle";
    return s("text", { x, y: frame.bottom + fontPx * 1.4, "text-anchor": anchor }, tick.text);
  });
  const sides = [[frame.left - fontPx * 0.5, "end"], [frame.right + fontPx * 0.5, "start"]];
  frame.axes.forEach((axis, at) => {
    const [x, anchor] = sides[at];
    for (const { value, text } of axis.ticks) {
      texts.push(s("text", { x, y: axis.y(value) + fontPx * 0.35, "text-anchor": anchor }, text));
    }
  });
  return texts;
}
