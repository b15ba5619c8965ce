// A table whose rows change in place: a row that stays keeps its element, so focus, selection and scrolling stay too.

import { h, put, shown } from "./dom.js";

/** `columns` are {title, number?, wide?, text(row)}, or {title, node(row)} for what is made once for a row; `key(row)`
 * names a row; `empty` is said where there are none. */
export class LiveTable {
  constructor(caption, columns, key, empty) {
    this.columns = columns;
    this.key = key;
    this.rows = new Map();
    this.body = h("tbody");
    const head = columns.map(({ title, number }) => h("th", { scope: "col", class: number && "number" }, title));
    const title = h("caption", { class: "hidden" }, caption);
    const table = h("table", {}, title, h("thead", {}, h("tr", {}, head)), this.body);
    this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
    this.empty = h("p", { class: "help" }, empty);
    this.element = h("div", { class: "live-table" }, this.scroll, this.empty);
  }

  update(values) {
    const kept = new Set(values.map(this.key));
    for (const [key, row] of this.rows) {
      if (kept.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    values.forEach((value, at) => this.place(this.row(value), at));
    this.scroll.hidden = values.length === 0;
    this.empty.hidden = values.length > 0;
  }

  row(value) {
    const key = this.key(value);
    const row = this.rows.get(key) ?? this.make(value);
    this.rows.set(key, row);
    this.columns.forEach(({ text }, at) => {
      const said = text && text(value);
      if (text && row.said[at] !== said) put(row.cells[at], shown((row.said[at] = said)));
    });
    return row.element;
  }

  make(value) {
    const cells = this.columns.map(({ number, wide, node }) => {
      return h("td", { class: (number && "number") || (wide && "wide") }, node && node(value));
    });
    return { cells, said: [], element: h("tr", {}, cells) };
  }

  place(element, at) {
    const there = this.body.children[at];
    if (there === element) return;
    const focused = element.contains(document.activeElement) && document.activeElement;
    this.body.insertBefore(element, there ?? null);
    if (focused) focused.focus({ preventScroll: true });
  }
}
