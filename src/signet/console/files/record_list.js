// A table of journal records, newest first, of which only the rows that can be seen are in the page: ten thousand
// records cost no more than thirty. New records at the top do not move what is being read.

import { h, shown } from "./dom.js";
import { doorName } from "./door_names.js";
import { milliseconds } from "./road.js";

const MOST = 10_000;
const BEYOND = 8;
const COLUMNS = [
  ["Time", "time"],
  ["Tool", "tool"],
  ["Outcome", "outcome"],
  ["Door", "door"],
  ["Caller", "caller"],
  ["Took", "took number"],
];

/** Make the table; `onOpen` is called with the record that a person opens. */
export function recordList(onOpen) {
  return new RecordList(onOpen);
}

class RecordList {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.records = [];
    this.seen = new Set();
    this.drawn = new Map();
    this.current = "";
    this.opened = "";
    this.height = 0;
    [this.before, this.after] = [space(), space()];
    this.body = h("tbody");
    const heads = COLUMNS.map(([title, kind]) => h("th", { scope: "col", class: kind }, title));
    const head = h("thead", {}, h("tr", { "aria-rowindex": "1" }, heads));
    this.table = h("table", {}, head, this.before, this.body, this.after);
    const on = { onscroll: () => this.drawSoon(), onkeydown: (event) => this.onKey(event) };
    const names = { class: "records", tabindex: "-1", role: "region", "aria-label": "Records" };
    this.element = h("div", { ...names, ...on }, this.table);
    this.watcher = new ResizeObserver(() => {
      this.height = 0;
      this.drawSoon();
    });
    this.watcher.observe(this.element);
  }

  /** Forget all records. */
  clear() {
    this.records = [];
    this.seen.clear();
    this.element.scrollTop = 0;
    this.drawSoon();
  }

  /** Add records in any order; those that are there already are left out. Return how many are new. */
  add(given) {
    const added = given.filter((record) => !this.seen.has(record.seq) && this.seen.add(record.seq));
    if (!added.length) return 0;
    added.sort(newestFirst);
    const anchor = this.anchor();
    const [newest, oldest] = [this.records[0], this.records.at(-1)];
    if (!newest || added.at(-1).seq > newest.seq) this.records = added.concat(this.records);
    else if (added[0].seq < oldest.seq) this.records = this.records.concat(added);
    else this.records = this.records.concat(added).sort(newestFirst);
    for (const record of this.records.splice(MOST)) this.seen.delete(record.seq);
    if (anchor) this.shift(added.filter((record) => record.seq > anchor.seq).length);
    this.draw();
    return added.length;
  }

  /** Return the record that must not move: the first that is seen, where a person has scrolled or is in the list. */
  anchor() {
    const top = this.element.scrollTop;
    const isRead = top > 0 || this.body.contains(document.activeElement);
    return isRead ? this.records[Math.floor(top / this.rowHeight())] : undefined;
  }

  /** Scroll by rows that have come above, before they are drawn: so the rows that are seen stay in the page. */
  shift(rows) {
    if (!rows) return;
    const by = rows * this.rowHeight();
    setHeight(this.before, this.before.querySelector("td").offsetHeight + by);
    this.element.scrollTop += by;
  }

  /** Mark the record that is shown beside the table; none with an empty seq. */
  mark(seq) {
    this.opened = seq;
    if (seq) this.current = seq;
    for (const [own, row] of this.drawn) markRow(row, own === seq);
  }

  /** Put the focus on the record that had it last. */
  focus() {
    this.moveTo(Math.max(0, this.indexOf(this.current)));
  }

  destroy() {
    this.watcher.disconnect();
  }

  rowHeight() {
    if (!this.height) {
      const row = this.body.firstElementChild;
      this.height = row ? row.getBoundingClientRect().height : 0;
    }
    return this.height || 36;
  }

  drawSoon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.draw();
    });
  }

  /** Bring the rows in the page in line with what can be seen; rows that stay are not touched, so focus stays too. */
  draw() {
    const height = this.rowHeight();
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - BEYOND);
    const seen = Math.ceil((this.element.clientHeight || 600) / height) + 2 * BEYOND;
    const last = Math.min(this.records.length, first + seen);
    const wanted = new Map();
    for (let at = first; at < last; at++) wanted.set(this.records[at].seq, at);
    const hadFocus = this.element.contains(document.activeElement);
    for (const [seq, row] of this.drawn) {
      if (!wanted.has(seq)) {
        row.remove();
        this.drawn.delete(seq);
      }
    }
    let next = this.body.firstElementChild;
    for (const [seq, at] of wanted) {
      let row = this.drawn.get(seq);
      if (row) next = row.nextElementSibling;
      else {
        row = this.makeRow(this.records[at]);
        this.drawn.set(seq, row);
        this.body.insertBefore(row, next);
      }
      row.setAttribute("aria-rowindex", at + 2);
    }
    this.table.setAttribute("aria-rowcount", this.records.length + 1);
    setHeight(this.before, first * height);
    setHeight(this.after, (this.records.length - last) * height);
    this.setStop(wanted, first);
    if (hadFocus && !this.element.contains(document.activeElement)) this.element.focus({ preventScroll: true });
  }

  /** Let Tab reach one row alone; the arrow keys reach the others. */
  setStop(wanted, first) {
    const visible = Math.max(first, Math.ceil(this.element.scrollTop / this.rowHeight()));
    const stop = wanted.has(this.current) ? this.current : this.records[visible]?.seq;
    for (const [seq, row] of this.drawn) row.querySelector("a").tabIndex = seq === stop ? 0 : -1;
  }

  makeRow(record) {
    const open = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.onOpen(record);
    };
    const [word, kind] = outcomeOf(record);
    const message = record.error?.message ?? "";
    const [second, ms] = timeOf(record.ts);
    const time = h("time", { datetime: record.ts, title: record.ts }, second, h("span", { class: "ms" }, ms));
    const href = `#/journal/${encodeURIComponent(record.requestId)}`;
    const row = h("tr", { onclick: open },
      h("td", { class: "time" }, time),
      h("td", { class: "tool" }, h("a", { href, onclick: open }, shown(record.tool || "(no tool)"))),
      h("td", { class: "outcome" }, h("span", { class: `code ${kind}` }, word), " ", shown(message)),
      h("td", { class: "door" }, shown(doorName(record.door))),
      h("td", { class: "caller" }, shown(record.caller)),
      h("td", { class: "took number" }, milliseconds(record.durationMs)),
    );
    markRow(row, record.seq === this.opened);
    return row;
  }

  indexOf(seq) {
    return this.records.findIndex((record) => record.seq === seq);
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight()) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -MOST, End: MOST };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey || !this.records.length) return;
    event.preventDefault();
    const focused = [...this.drawn].find(([, row]) => row.contains(document.activeElement));
    const from = this.indexOf(focused ? focused[0] : this.current);
    this.moveTo(from + steps[event.key]);
  }

  /** Put the focus on a row, and bring it where it can be seen. */
  moveTo(index) {
    const at = Math.min(this.records.length - 1, Math.max(0, index));
    if (at < 0) return;
    this.current = this.records[at].seq;
    const [height, box] = [this.rowHeight(), this.element];
    const room = box.clientHeight - this.table.tHead.offsetHeight;
    if (at * height < box.scrollTop) box.scrollTop = at * height;
    else if ((at + 1) * height > box.scrollTop + room) box.scrollTop = (at + 1) * height - room;
    this.draw();
    this.drawn.get(this.current)?.querySelector("a").focus({ preventScroll: true });
  }
}

function newestFirst(one, other) {
  return one.seq < other.seq ? 1 : one.seq > other.seq ? -1 : 0;
}

/** Make the room that the rows take which are not in the page. */
function space() {
  return h("tbody", { class: "space", "aria-hidden": "true" }, h("tr", {}, h("td", {})));
}

function setHeight(space, height) {
  space.hidden = height <= 0;
  space.querySelector("td").style.height = `${height}px`;
}

function markRow(row, isOpened) {
  isOpened ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current");
}

/** Return the word for how a call ended, and the class of its colour. */
export function outcomeOf(record) {
  if (record.shadow) return [`! ${record.code}`, "warn"];
  return record.status === "ok" ? ["✓ OK", "good"] : [`✕ ${record.code}`, "bad"];
}

/** Return the time of day of a timestamp, where the reader is: hours to seconds, and the fraction. */
function timeOf(ts) {
  const when = new Date(ts);
  const parts = [when.getHours(), when.getMinutes(), when.getSeconds()].map((part) => String(part).padStart(2, "0"));
  return [parts.join(":"), `.${String(when.getMilliseconds()).padStart(3, "0")}`];
}
