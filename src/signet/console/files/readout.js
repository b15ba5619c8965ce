// What a chart says of one place on its x axis: a line, a dot on each curve, a box of values, and a sentence to hear.

import { h, put, s, shown } from "./dom.js";
import { lookOf } from "./plot.js";
import { exact, periodText } from "./scale.js";

/** The crosshair of a chart, in its overlay. */
export class Readout {
  constructor() {
    this.line = s("line", { class: "chart-crosshair" });
    this.dots = s("g");
    this.marks = s("g", { "aria-hidden": "true" }, this.line, this.dots);
    this.box = h("div", { class: "chart-box", "aria-hidden": "true" });
    this.spoken = h("p", { class: "chart-hidden", "aria-live": "polite" });
    this.hide();
  }

  hide() {
    this.marks.setAttribute("visibility", "hidden");
    this.box.hidden = true;
  }

  /** Show the values at x; speak them where the keyboard moved the crosshair. */
  show(x, frame, palette, { isTime, isLocal, isSpoken }) {
    const at = Math.round(frame.x(x)) + 0.5;
    const ends = { x1: at, x2: at, y1: 0, y2: frame.bottom };
    for (const [name, value] of Object.entries(ends)) this.line.setAttribute(name, value);
    const curves = frame.axes.flatMap((axis) => axis.curves.map((curve) => ({ axis, curve, point: curve.pointAt(x) })));
    curves.sort((one, other) => one.curve.number - other.curve.number);
    const text = (value, frequency) => (isTime ? periodText(value, frequency, isLocal) : exact(value));
    const same = curves.every(({ curve }) => curve.frequency === curves[0].curve.frequency);
    const head = text(x, same ? curves[0]?.curve.frequency : "");
    put(this.dots, curves.map((one) => dotOf(one, frame, palette)));
    const rows = curves.map((one) => rowOf(one, palette, head, text));
    put(this.box, h("p", { class: "chart-when" }, head), h("dl", {}, rows.map((row) => row.nodes)));
    this.marks.setAttribute("visibility", "visible");
    this.box.hidden = false;
    this.move(at, frame);
    if (isSpoken) this.spoken.textContent = `${head}: ${rows.map((row) => row.sentence).join("; ")}`;
  }

  /** Put the box beside the line, on the side where it fits. */
  move(at, frame) {
    const width = this.box.offsetWidth;
    const right = at + frame.fontPx;
    const left = right + width <= frame.width ? right : Math.max(0, at - frame.fontPx - width);
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(frame.top)}px)`;
  }
}

function dotOf({ axis, curve, point }, frame, palette) {
  const isDrawn = point && !Number.isNaN(point.y) && !(frame.isLog && point.y <= 0);
  if (!isDrawn || point.x < frame.x.from || point.x > frame.x.to) return null;
  const dot = s("circle", { cx: frame.x(point.x), cy: axis.y(point.y), r: 4, class: "chart-dot" });
  dot.style.fill = lookOf(curve.number, palette).colour;
  return dot;
}

function rowOf({ curve, point }, palette, head, text) {
  const value = !point || Number.isNaN(point.y) ? "no value" : exact(point.y);
  const own = point ? text(point.x, curve.frequency) : head;
  const when = own === head ? "" : own;
  const unit = value === "no value" ? "" : curve.unit;
  // The legend has the name: the box has to be small, so that the curve is seen.
  const name = h("dt", {}, sample(curve.number, palette), " ", shown(curve.code || curve.name));
  const beside = when && h("span", { class: "chart-own" }, ` (${when})`);
  const data = h("dd", {}, h("strong", {}, value), unit && [" ", shown(unit)], beside);
  const spoken = h("span", {}, shown(labelOf(curve))).textContent;
  return { nodes: [name, data], sentence: [spoken, data.textContent].join(" ") };
}

/** Return the name of a curve for people: its code and its name. */
export function labelOf({ code, name }) {
  return code && code !== name ? `${code} ${name}`.trim() : name;
}

/** Return a short line as the curve of this number is drawn. */
export function sample(number, palette) {
  const look = lookOf(number, palette);
  const strokes = { "stroke-dasharray": look.dashes.join(" "), "stroke-width": look.width + 0.5 };
  const line = s("line", { x1: 0, x2: 24, y1: 5, y2: 5, ...strokes });
  line.style.stroke = look.colour;
  return s("svg", { class: "chart-sample", viewBox: "0 0 24 10", "aria-hidden": "true" }, line);
}
