// A chart of our own: curves on a canvas, axes as text, a crosshair that mouse, finger and keyboard move, zoom, log axis.

import { Curve, stopsOf } from "./curve.js";
import { h, put, s, shown } from "./dom.js";
import { layout, paint, paletteOf } from "./plot.js";
import { Readout, labelOf, sample } from "./readout.js";
import { areDays, exact, periodText } from "./scale.js";
import { ChartInput } from "./chart_input.js";

const MAX_AXES = 2;
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

/** A chart: `title`, `series` of {name, unit, points, code?, frequency?}, `x` time or number, `log`, `height` in pixels,
 * `download`, the name of the files that people save, without its ending. */
export class Chart {
  constructor({ title = "", series, x = "time", log = false, height = 0, download = "" }) {
    Object.assign(this, { title, height, download, isTime: x === "time", isLog: log, view: null, stop: NaN, frame: null });
    this.id = `chart-${++count}`;
    this.hidden = new Set();
    this.units = [];
    this.readout = new Readout();
    this.build();
    this.take(series);
    this.input = new ChartInput(this);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => (this.frame && !this.figure.isConnected ? this.destroy() : this.restyle());
    this.observer = new ResizeObserver(() => this.draw());
  }

  build() {
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.labels = s("g");
    this.band = s("rect", { class: "chart-band", visibility: "hidden", y: 0 });
    this.overlay = s("svg", { class: "chart-overlay", "aria-hidden": "true" }, this.labels, this.band, this.readout.marks);
    this.plot = h("div", {
      class: "chart-plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-describedby": `${this.id}-help`,
    }, this.canvas, this.overlay, this.readout.box);
    if (this.height) this.plot.style.height = `${this.height}px`;
    this.legend = h("div", { class: "chart-legend", role: "group", "aria-label": "Series" });
    this.logButton = this.button("Log axis", () => this.setLog(!this.isLog), { "aria-pressed": String(this.isLog) });
    this.zoomed = [this.button("Earlier", () => this.pan(-0.5)), this.button("Later", () => this.pan(0.5)), this.button("Reset zoom", () => this.reset())];
    const zoom = [this.button("Zoom in", () => this.zoom(0.5)), this.button("Zoom out", () => this.zoom(2)), ...this.zoomed];
    this.tools = h("div", { class: "chart-tools row" }, this.logButton, zoom, this.tableButton = this.button("Table", () => this.turnTable(), { "aria-expanded": "false" }),
      this.download && [this.button("CSV", () => this.save("saveCsv")), this.button("PNG", () => this.save("savePng"))]);
    this.unitTexts = h("div", { class: "chart-units" });
    this.note = h("p", { class: "help chart-note", role: "status" });
    this.choice = h("div", { class: "chart-choice row" });
    this.table = h("div", { class: "chart-table", hidden: true });
    this.figure = h("figure", { class: "chart" }, this.title && h("figcaption", {}, shown(this.title)), this.legend, this.choice, this.unitTexts, this.plot,
      h("p", { class: this.height ? "chart-hidden" : "help", id: `${this.id}-help` }, "Arrow keys read values, Home and End go to the ends, plus and minus zoom, Escape resets. With a mouse: drag, or Ctrl and the wheel, to zoom."),
      this.note, this.readout.spoken, this.tools, this.table);
  }

  button(text, onclick, more = {}) {
    return h("button", { type: "button", class: "quiet", onclick, ...more }, text);
  }

  open() {
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
    const before = JSON.stringify(this.curves?.map((curve) => [curve.code, curve.name, curve.unit]));
    this.series = series;
    this.curves = series.map((one, number) => new Curve(one, number));
    const filled = this.curves.filter((curve) => curve.length > 0);
    this.first = Math.min(...filled.map((curve) => curve.xs[0]));
    this.last = Math.max(...filled.map((curve) => curve.xs.at(-1)));
    this.isEmpty = filled.length === 0;
    this.isLocal = this.isTime && !filled.every((curve) => areDays(curve.xs));
    this.stops = null;
    const total = this.curves.reduce((sum, curve) => sum + curve.length, 0);
    const text = (value) => (this.isTime ? periodText(value, filled[0].frequency, this.isLocal) : exact(value));
    const range = this.isEmpty ? "no points" : `${exact(total)} points, ${text(this.first)} to ${text(this.last)}`;
    const names = h("span", {}, shown(this.title || "Chart")).textContent;
    this.plot.setAttribute("aria-label", `${names}: ${series.length} series, ${range}`);
    if (before !== JSON.stringify(this.curves.map((curve) => [curve.code, curve.name, curve.unit]))) this.name();
  }

  /** Make the legend, and the choice of units where there are more than the axes. */
  name() {
    this.allUnits = [...new Set(this.curves.map((curve) => curve.unit))];
    if (!this.units.length || !this.units.every((unit) => this.allUnits.includes(unit))) this.units = this.allUnits.slice(0, MAX_AXES);
    this.restyle();
    const isMany = this.allUnits.length > MAX_AXES;
    put(this.choice, isMany && [h("p", { class: "help" }, `The series have ${this.allUnits.length} units, and a chart has two axes: choose two.`), this.unitChoice(0, "Left axis"), this.unitChoice(1, "Right axis")]);
  }

  unitChoice(at, label) {
    const id = `${this.id}-unit-${at}`;
    const change = (event) => {
      const unit = this.allUnits[event.target.value];
      if (this.units[1 - at] === unit) this.units[1 - at] = this.units[at];
      this.units[at] = unit;
      this.name();
      this.draw();
      document.getElementById(id)?.focus();
    };
    const options = this.allUnits.map((unit, number) => h("option", { value: String(number), selected: unit === this.units[at] }, shown(unit || "no unit")));
    return [h("label", { for: id }, label), h("select", { id, onchange: change }, options)];
  }

  /** Read the colours again. */
  restyle() {
    this.palette = paletteOf(this.figure.isConnected ? this.figure : document.body);
    put(this.legend, this.curves.map((curve) => this.legendButton(curve)));
    this.draw();
  }

  legendButton(curve) {
    const isOff = !this.units.includes(curve.unit);
    const pressed = String(!isOff && !this.hidden.has(curve.number));
    const unit = this.allUnits.length > 1 && curve.unit && h("span", { class: "chart-unit" }, " ", shown(curve.unit));
    const toggle = (event) => {
      this.hidden.delete(curve.number) || this.hidden.add(curve.number);
      event.currentTarget.setAttribute("aria-pressed", String(!this.hidden.has(curve.number)));
      this.stops = null;
      this.draw();
    };
    return this.button("", toggle, { "aria-pressed": pressed, disabled: isOff }).appendChild(h("span", {}, sample(curve.number, this.palette), " ", shown(labelOf(curve) || "series"), unit)).parentNode;
  }

  get drawn() {
    return this.curves.filter((curve) => !this.hidden.has(curve.number) && this.units.includes(curve.unit));
  }

  get allStops() {
    return (this.stops ??= stopsOf(this.drawn));
  }

  /** Return the ends of what is seen. */
  get ends() {
    const [from, to] = this.view ?? [this.first, this.last];
    return from < to ? [from, to] : [from - 1, to + 1];
  }

  draw() {
    if (this.isGone || !this.figure.isConnected) return;
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.drawNow());
  }

  /** Return the layout for a size. */
  arrange(width, height, fontPx, textWidth) {
    const [from, to] = this.ends;
    const drawn = this.drawn;
    const units = this.units.filter((unit) => drawn.some((curve) => curve.unit === unit));
    return layout({ curves: drawn, units, from, to, isTime: this.isTime, isLocal: this.isLocal, isLog: this.isLog, width, height, fontPx, textWidth });
  }

  drawNow() {
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (!width || !height || this.isGone) return;
    const fontPx = parseFloat(getComputedStyle(this.overlay).fontSize);
    const context = this.canvas.getContext("2d");
    context.font = `${fontPx}px ${this.palette.sans}`;
    const isBlank = this.isEmpty || this.drawn.length === 0;
    this.frame = isBlank ? null : this.arrange(width, height, fontPx, (text) => context.measureText(text).width);
    const ratio = Math.min(devicePixelRatio || 1, 3);
    // A canvas is emptied when it is given a size, and only then needs new memory.
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.frame) paint(context, this.frame, this.palette);
    this.write(isBlank);
  }

  /** Write what is text: the ticks, the units and what has to be said. */
  write(isBlank) {
    const frame = this.frame;
    const notes = [isBlank && (this.isEmpty ? "There are no points." : "All series are hidden.")];
    put(this.labels, frame && tickTexts(frame));
    put(this.unitTexts, frame && frame.axes.map((axis) => h("span", {}, shown(axis.unit))));
    if (frame?.leftOut) notes.push(`${exact(frame.leftOut)} values at or below 0 are left out: a log axis has no place for them.`);
    if (frame?.axes.some((axis) => axis.isEmpty)) notes.push("There is no value in this span.");
    put(this.note, notes.filter(Boolean).join(" "));
    for (const button of this.zoomed) button.hidden = this.view === null;
    if (frame && this.stop >= frame.x.from && this.stop <= frame.x.to) this.point(this.stop);
    else this.readout.hide();
  }

  /** Put the crosshair at a place on the x axis. */
  point(x, isSpoken = false) {
    this.stop = x;
    if (this.frame) this.readout.show(x, this.frame, this.palette, { isTime: this.isTime, isLocal: this.isLocal, isSpoken });
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

  reset() {
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
  const texts = frame.xTicks.map((tick) => {
    const x = frame.x(tick.value);
    const anchor = x < frame.fontPx * 3 ? "start" : x > frame.width - frame.fontPx * 3 ? "end" : "middle";
    return s("text", { x, y: frame.bottom + frame.fontPx * 1.4, "text-anchor": anchor }, tick.text);
  });
  const sides = [[frame.left - frame.fontPx * 0.5, "end"], [frame.right + frame.fontPx * 0.5, "start"]];
  frame.axes.forEach((axis, at) => {
    const [x, anchor] = sides[at];
    for (const tick of axis.ticks) texts.push(s("text", { x, y: axis.y(tick.value) + frame.fontPx * 0.35, "text-anchor": anchor }, tick.text));
  });
  return texts;
}
