// The points of series as a table of which only the rows in sight are in the page, whatever their number.

import { stopsOf } from "./curve.js";
import { h, put, shown } from "./dom.js";
import { labelOf } from "./readout.js";
import { exact, periodText } from "./scale.js";

const SPARE = 10;
/** Browsers do not draw elements that are higher than about 17 million pixels. */
const MAX_ROWS = 250_000;

/** A table in a region that scrolls: one row for each x, one column for each series. */
export class SeriesTable {
  constructor(title, isTime, isLocal) {
    Object.assign(this, { isTime, isLocal, curves: [], stops: [], rowPx: 0, from: -1, to: -1 });
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h("table", {}, this.head, this.body);
    const label = `${h("span", {}, shown(title || "Chart")).textContent}: table`;
    const region = { class: "chart-rows", tabindex: "0", role: "region", "aria-label": label };
    this.element = h("div", { ...region, onscroll: () => this.draw() }, this.table);
  }

  /** Show other points, at the same place. */
  take(curves) {
    this.curves = curves;
    this.stops = stopsOf(curves).subarray(0, MAX_ROWS);
    const same = curves.every((curve) => curve.frequency === curves[0].frequency);
    this.frequency = same ? curves[0]?.frequency : "";
    const first = h("th", { scope: "col" }, this.isTime ? "Period" : "x");
    put(this.head, h("tr", { "aria-rowindex": "1" }, first, curves.map(heading)));
    this.table.setAttribute("aria-rowcount", String(this.stops.length + 1));
    this.from = -1;
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.element;
    const rowPx = this.rowPx || 30;
    const from = Math.max(0, Math.floor(scrollTop / rowPx) - SPARE);
    const to = Math.min(this.stops.length, Math.ceil((scrollTop + (clientHeight || 400)) / rowPx) + SPARE);
    if (from === this.from && to === this.to) return;
    Object.assign(this, { from, to });
    const rows = [];
    for (let at = from; at < to; at++) rows.push(this.row(at));
    put(this.body, this.space(from, rowPx), rows, this.space(this.stops.length - to, rowPx));
    const measured = rows[0]?.getBoundingClientRect().height;
    if (measured && measured !== this.rowPx) {
      this.rowPx = measured;
      this.from = -1;
      this.draw();
    }
  }

  row(at) {
    const x = this.stops[at];
    const cells = this.curves.map((curve) => {
      const place = curve.search(x);
      const y = curve.xs[place] === x ? curve.ys[place] : NaN;
      return h("td", { class: "number" }, Number.isNaN(y) ? "" : exact(y));
    });
    const when = this.isTime ? periodText(x, this.frequency, this.isLocal) : exact(x);
    return h("tr", { "aria-rowindex": String(at + 2) }, h("td", {}, when), cells);
  }

  /** Return a row as high as those that are not in the page. */
  space(count, rowPx) {
    const cell = h("td", { colspan: String(this.curves.length + 1) });
    cell.style.height = `${count * rowPx}px`;
    return count > 0 && h("tr", { class: "space", "aria-hidden": "true" }, cell);
  }
}

function heading(curve) {
  const unit = curve.unit && h("span", { class: "chart-unit" }, " (", shown(curve.unit), ")");
  return h("th", { scope: "col", class: "number" }, shown(labelOf(curve) || "series"), unit);
}
