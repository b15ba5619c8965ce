// The live journal: the latest calls of all doors as they end, filters, and one record beside the list.

import { ROOT, follow, hasToken, post } from "./api.js";
import { codeBlock, h, put, shown, tell } from "./dom.js";
import { doorName } from "./door_names.js";
import { recordList } from "./record_list.js";
import { showRecord } from "./record_panel.js";

const FIRST = 200;
const FURTHER = 1000;
const MOST = 10_000;
const AGAIN_MS = [500, 2000, 5000, 15_000];
const FILTERS = [
  ["tool", "Tool", "tools", "All tools"],
  ["door", "Door", "doors", "All doors"],
  ["code", "Code", "codes", "All codes"],
  ["caller", "Caller", "callers", "All callers"],
];
const LEFT_OUT = "Left out: successful calls that came too fast to be shown as they ended. Load the page again to see the last 10,000; the journal's files have all.";

export async function show(place, rest, app) {
  const view = new JournalView(place, app);
  view.watch();
  if (rest[0]) view.open(rest[0]);
  return () => view.leave();
}

class JournalView {
  constructor(place, app) {
    this.app = app;
    this.place = place;
    this.filter = { tool: null, door: null, code: null, caller: null, text: "" };
    this.values = { tool: new Set(), door: new Set(), code: new Set(), caller: new Set() };
    this.waiting = [];
    this.isPaused = false;
    this.isLoaded = false;
    this.leftOut = 0;
    this.example = null;
    this.list = recordList((record) => this.open(record.seq, record));
    this.list.element.addEventListener("scroll", () => this.list.element.scrollTop || (this.top.hidden = true));
    this.draw();
  }

  draw() {
    this.count = h("p", { class: "count" }, "Loading");
    this.state = h("p", { class: "help state", role: "status" });
    const onEscape = (event) => event.key === "Escape" && this.close();
    this.panel = h("section", { class: "panel card", "aria-label": "Record", hidden: true, onkeydown: onEscape });
    this.empty = h("div", { class: "empty", hidden: true });
    const turn = () => this.turn(!this.isPaused);
    this.pause = h("button", { type: "button", class: "quiet", onclick: turn }, "Pause");
    const toTop = () => this.toTop();
    this.top = h("button", { type: "button", class: "quiet", hidden: true, onclick: toTop }, "New records above");
    const left = h("div", { class: "left" }, this.list.element, this.empty);
    const bar = h("div", { class: "row bar" }, this.count, this.pause, this.top, this.state);
    put(this.place, h("h1", {}, "Journal"), this.filters(), bar, h("div", { class: "both" }, left, this.panel));
  }

  filters() {
    this.selects = {};
    const fields = FILTERS.map(([name, label, , all]) => {
      const id = `journal-${name}`;
      const onchange = (event) => this.choose({ [name]: readChoice(event.target.value) });
      this.selects[name] = h("select", { id, onchange }, h("option", { value: "" }, all));
      return h("div", { class: "field" }, h("label", { for: id }, label), this.selects[name]);
    });
    let typing = 0;
    const oninput = () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.choose({ text: this.text.value }), 200);
    };
    this.text = h("input", { id: "journal-text", type: "search", autocomplete: "off", maxlength: "300", oninput });
    fields.push(h("div", { class: "field text" }, h("label", { for: "journal-text" }, "Text"), this.text));
    const onsubmit = (event) => event.preventDefault();
    return h("form", { class: "filters", role: "search", "aria-label": "Filter the records", onsubmit }, fields);
  }

  choose(change) {
    this.filter = { ...this.filter, ...change };
    this.follow();
  }

  clearFilters() {
    for (const select of Object.values(this.selects)) select.value = "";
    this.text.value = "";
    this.choose({ tool: null, door: null, code: null, caller: null, text: "" });
  }

  /** Follow while the tab is seen: a browser has six connections to a server, and each stream takes one. */
  watch() {
    this.onVisible = () => (document.hidden ? this.stopping?.abort() : this.follow());
    document.addEventListener("visibilitychange", this.onVisible);
    if (!document.hidden) this.follow();
  }

  /** Follow the records that the filter takes, from now on and back to the oldest; begin again if the stream ends. */
  async follow() {
    this.stopping?.abort();
    const { signal } = (this.stopping = new AbortController());
    const filter = JSON.stringify(this.filter);
    // Where the filter is another, the list is; else it goes on, and what came in the meantime is loaded.
    if (filter !== this.followed) this.list.clear();
    this.isLoaded &&= filter === this.followed;
    this.followed = filter;
    this.waiting = [];
    for (let failed = 0; !signal.aborted; failed++) {
      const wait = AGAIN_MS[Math.min(failed, AGAIN_MS.length - 1)];
      try {
        let hasBegun = false;
        await follow("-/journal/stream", this.filter, (batch) => {
          if (signal.aborted) return;
          this.take(batch);
          if (!hasBegun) this.load(signal).catch((error) => this.say(error, wait, signal));
          hasBegun = true;
          failed = 0;
        }, signal);
        this.say(new Error("The server has ended the stream"), wait, signal);
      } catch (error) {
        this.say(error, wait, signal);
      }
      await pauseFor(wait, signal);
    }
  }

  /** Load the records of before, the newest first. */
  async load(signal) {
    let before = "";
    for (let size = FIRST; !signal.aborted; size = FURTHER) {
      const page = await post("-/journal", { ...this.filter, before, limit: size }, { signal });
      if (signal.aborted) return;
      this.isLoaded = true;
      this.leftOut = page.leftOut;
      this.example = page.example;
      for (const [name, , plural] of FILTERS) this.offer(name, page[plural]);
      this.list.add(page.records);
      this.tally();
      if (!before) put(this.state);
      if (page.records.length < size || this.list.records.length >= MOST) return;
      before = page.records.at(-1).seq;
    }
  }

  take(batch) {
    this.leftOut = batch.leftOut;
    for (const [name] of FILTERS) this.offer(name, batch.records.map((record) => record[name]));
    if (this.isPaused) {
      this.waiting = this.waiting.concat(batch.records).slice(-MOST);
    } else if (this.list.add(batch.records) && this.list.element.scrollTop > 0) {
      this.top.hidden = false;
    }
    this.tally();
  }

  offer(name, values) {
    const known = this.values[name];
    const fresh = [...new Set(values)].filter((value) => !known.has(value));
    if (!fresh.length) return;
    for (const value of fresh) known.add(value);
    const select = this.selects[name];
    const chosen = select.value;
    const option = (value) => h("option", { value: `=${value}` }, value === "" ? "(nobody)" : plain(name === "door" ? doorName(value) : value));
    const options = [...known].sort().slice(0, 500).map(option);
    put(select, select.firstElementChild, options);
    select.value = chosen;
  }

  turn(isPaused) {
    this.isPaused = isPaused;
    if (!isPaused) this.list.add(this.waiting.splice(0));
    tell(isPaused ? "Paused: new records wait" : "New records are shown again");
    this.tally();
  }

  toTop() {
    this.list.element.scrollTop = 0;
    this.top.hidden = true;
  }

  tally() {
    const number = this.list.records.length;
    const lacking = this.leftOut ? `, ${written(this.leftOut)} left out` : "";
    put(this.count, `${written(number)} ${number === 1 ? "record" : "records"}${lacking}`);
    this.count.title = lacking && LEFT_OUT;
    put(this.pause, this.isPaused ? `Resume (${written(this.waiting.length)} new)` : "Pause");
    const isEmpty = this.isLoaded && number === 0;
    this.list.element.hidden = isEmpty;
    if (isEmpty && this.empty.hidden) put(this.empty, this.emptyState());
    this.empty.hidden = !isEmpty;
  }

  emptyState() {
    if (Object.values(this.filter).some((value) => value !== null && value !== "")) {
      const clear = () => this.clearFilters();
      const button = h("button", { type: "button", class: "quiet", onclick: clear }, "Clear the filters");
      return [h("p", {}, "No record matches the filters."), button];
    }
    const [tools, clients] = ["Tools", "Clients"].map((name) => h("a", { href: `#/${name.toLowerCase()}` }, name));
    const first = "Every call of a tool appears here when it ends, whichever door it came through. Make one under ";
    return [
      h("h2", {}, "No calls yet"),
      h("p", {}, first, tools, ", let an agent make one (see ", clients, "), or paste this in a terminal:"),
      this.example && codeBlock(curl(this.example), "A call"),
    ];
  }

  /** Open a record beside the list; the address names it, without a new entry in the history. */
  async open(key, record) {
    this.list.mark(record?.seq ?? "");
    this.panel.hidden = false;
    this.place.classList.add("opened");
    if (record) history.replaceState(null, "", `#/journal/${encodeURIComponent(record.requestId)}`);
    const page = await showRecord(this.panel, key, this.app, () => this.close());
    if (page?.record) this.list.mark(page.record.seq);
  }

  close() {
    this.panel.hidden = true;
    this.place.classList.remove("opened");
    history.replaceState(null, "", "#/journal");
    this.list.mark("");
    this.list.focus();
  }

  say(error, wait, signal) {
    const when = wait < 1000 ? "now" : `every ${wait / 1000} s`;
    if (!signal.aborted) put(this.state, shown(`No new records: ${error.message}. Trying again ${when}.`));
  }

  leave() {
    document.removeEventListener("visibilitychange", this.onVisible);
    this.stopping?.abort();
    this.list.destroy();
  }
}

/** An option's value is "=" and the text, since an empty text is a value too. */
function readChoice(value) {
  return value === "" ? null : value.slice(1);
}

function written(number) {
  return number.toLocaleString("en");
}

/** Return a line for a shell that makes a call. */
function curl({ tool, arguments: given }) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const token = hasToken() ? ' \\\n  -H "authorization: Bearer $SIGNET_TOKEN"' : "";
  const url = new URL(`api/tools/${encodeURIComponent(tool)}`, ROOT).href;
  const head = `curl -s ${quoted(url)} \\\n  -H 'content-type: application/json'${token}`;
  return `${head} \\\n  -d ${quoted(JSON.stringify(given))}`;
}

/** Options hold text alone: unseen characters become their numbers. */
function plain(text) {
  return h("span", {}, shown(text)).textContent;
}

function pauseFor(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
