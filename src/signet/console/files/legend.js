// The legend of a chart: a button for each series, and the choice of two units where the series have more.

import { h, put, shown } from "./dom.js";
import { labelOf, sample } from "./readout.js";

const MAX_AXES = 2;

/** Which series of a chart are drawn; calls `onChange` when a person chooses others. */
export class Legend {
  constructor(id, onChange) {
    Object.assign(this, { id, onChange, curves: [], units: [], all: [], key: "" });
    this.hidden = new Set();
    this.buttons = h("div", { class: "chart-legend", role: "group", "aria-label": "Series" });
    this.choice = h("div", { class: "chart-choice row" });
  }

  /** Take other curves; what is hidden stays so, unless the series are others. */
  take(curves, palette) {
    const key = JSON.stringify(curves.map((curve) => [curve.code, curve.name, curve.unit]));
    this.curves = curves;
    if (key === this.key) return;
    this.key = key;
    this.hidden.clear();
    this.all = [...new Set(curves.map((curve) => curve.unit))];
    const isKept = this.units.length > 0 && this.units.every((unit) => this.all.includes(unit));
    if (!isKept || this.units.length < Math.min(this.all.length, MAX_AXES)) this.units = this.all.slice(0, MAX_AXES);
    this.draw(palette);
    this.drawChoice();
  }

  /** Return the curves that are drawn. */
  get drawn() {
    return this.curves.filter((curve) => !this.hidden.has(curve.number) && this.units.includes(curve.unit));
  }

  draw(palette) {
    this.palette = palette;
    put(this.buttons, this.curves.map((curve) => this.button(curve)));
  }

  button(curve) {
    const isOff = !this.units.includes(curve.unit);
    const toggle = (event) => {
      this.hidden.delete(curve.number) || this.hidden.add(curve.number);
      event.currentTarget.setAttribute("aria-pressed", String(!this.hidden.has(curve.number)));
      this.onChange();
    };
    const unit = this.all.length > 1 && curve.unit && h("span", { class: "chart-unit" }, " ", shown(curve.unit));
    return h("button", {
      type: "button", class: "quiet", onclick: toggle, disabled: isOff,
      "aria-pressed": String(!isOff && !this.hidden.has(curve.number)),
    }, sample(curve.number, this.palette), " ", shown(labelOf(curve) || "series"), unit);
  }

  drawChoice() {
    const text = `The series have ${this.all.length} units, and a chart has two axes: choose two.`;
    const isMany = this.all.length > MAX_AXES;
    const selects = isMany && [this.select(0, "Left axis"), this.select(1, "Right axis")];
    put(this.choice, isMany && h("p", { class: "help" }, text), selects);
  }

  select(at, label) {
    const id = `${this.id}-unit-${at}`;
    const change = (event) => {
      const unit = this.all[event.target.value];
      if (this.units[1 - at] === unit) this.units[1 - at] = this.units[at];
      this.units[at] = unit;
      this.draw(this.palette);
      this.drawChoice();
      document.getElementById(id)?.focus();
      this.onChange();
    };
    const options = this.all.map((unit, number) => (
      h("option", { value: String(number), selected: unit === this.units[at] }, shown(unit || "no unit"))
    ));
    return h("span", { class: "row" }, h("label", { for: id }, label), h("select", { id, onchange: change }, options));
  }
}
