// The view "Health": figures of the last hour, charts, tables, and what is configured; it asks again while it is seen.

import { get } from "./api.js";
import { drawChart } from "./chart.js";
import { h, put, shown } from "./dom.js";
import { doorName } from "./door_names.js";
import { NONE, clockText, countText, msText, secondsText, shareText } from "./figure_text.js";
import { LiveTable } from "./live_table.js";
import { refresh } from "./refresh.js";
import { settingsTable } from "./settings_table.js";

const CHART_HEIGHT = 220;
const MIN_MINUTES = 10;

export async function show(place) {
  const [health, configured] = await Promise.all([get("-/health"), get("-/settings")]);
  const wide = [largeFigures(), charts(), calls(), servers(), upstreams()];
  const narrow = [faults(), refusals(), limits(), processes()];
  const parts = [...wide, ...narrow];
  const update = (found) => parts.forEach((part) => part.update(found));
  const signal = new AbortController();
  const bar = statusBar();
  let isFirst = true;
  const turning = refresh(async () => {
    try {
      const found = isFirst ? health : await get("-/health", { signal: signal.signal });
      isFirst = false;
      update(found);
      bar.tell(`Updated at ${clockText(found.atMs)}`);
    } catch (error) {
      if (!signal.signal.aborted) bar.tell(`The figures cannot be read: ${error.message}. The page asks again.`);
    }
  });
  bar.onPause((isPaused) => turning.pause(isPaused));
  const pairs = h("div", { class: "columns two health-pairs" }, narrow.map((part) => part.element));
  const tables = [wide.map((part) => part.element), pairs, settingsTable(configured.settings)];
  put(place, h("h1", {}, "Health"), bar.element, tables);
  return () => {
    turning.stop();
    signal.abort();
    parts.forEach((part) => part.end?.());
  };
}

/** The line that says how old the figures are, with the button that stops them. */
function statusBar() {
  const told = h("span", { class: "help" });
  const button = h("button", { type: "button", class: "quiet" }, "Pause");
  let isPaused = false;
  return {
    element: h("p", { class: "row health-bar" }, button, told),
    tell: (text) => put(told, shown(text)),
    onPause: (then) => button.addEventListener("click", () => {
      isPaused = !isPaused;
      button.classList.toggle("paused", isPaused);
      button.textContent = isPaused ? "Resume" : "Pause";
      then(isPaused);
    }),
  };
}

/** The row of large figures. */
function largeFigures() {
  const texts = {
    "Calls": ({ total }) => countText(total.calls),
    "Errors": ({ total }) => countText(total.errors),
    "Error rate": ({ total }) => shareText(total.errors, total.calls),
    "p50": ({ total }) => msText(total.p50Ms),
    "p95": ({ total }) => msText(total.p95Ms),
    "p99": ({ total }) => msText(total.p99Ms),
    "In flight now": ({ inFlight }) => countText(inFlight),
    "Journal lag": ({ keepsJournal, journalLagS }) => (keepsJournal ? secondsText(journalLagS) : "no journal"),
  };
  const values = Object.keys(texts).map(() => h("dd"));
  const figures = Object.keys(texts).map((name, at) => h("div", { class: "figure" }, h("dt", {}, name), values[at]));
  return {
    element: section("The last hour", h("dl", { class: "figures" }, figures)),
    update: (found) => Object.values(texts).forEach((text, at) => {
      const said = text(found);
      if (values[at].textContent !== said) values[at].textContent = said;
    }),
  };
}

/** The charts over the hour; without any call, what to do to see one. */
function charts() {
  const link = h("a", { href: "#/tools" }, "Call a tool");
  const empty = h("p", { class: "note" }, "No call was made in the last hour. ", link, ", and it appears here.");
  const titles = ["Calls per minute", "Errors per minute, by code", "Duration in milliseconds, by minute"];
  const series = [callSeries, errorSeries, timeSeries];
  const places = titles.map(() => h("div", { class: "health-chart" }));
  const drawn = [];
  const grid = h("div", { class: "health-charts" }, places);
  return {
    element: section("Charts", empty, grid),
    update: (found) => {
      const isEmpty = found.total.calls === 0;
      empty.hidden = !isEmpty;
      grid.hidden = isEmpty;
      if (isEmpty) return;
      series.forEach((make, at) => {
        if (drawn[at]) return drawn[at].update(make(found));
        // The p95 is often a hundred times the p50.
        const log = make === timeSeries;
        const options = { title: titles[at], series: make(found), x: "time", log, height: CHART_HEIGHT };
        drawn[at] = drawChart(places[at], { ...options, download: `signet-health-${at + 1}` });
      });
    },
    end: () => drawn.forEach((chart) => chart.destroy()),
  };
}

/** A curve from the minute before the first call on: a server that was just started has no flat hour to show. */
function curve(name, unit, minutes, values) {
  const called = minutes.calls.findIndex((count) => count > 0);
  const first = Math.max(0, Math.min(called - 1, minutes.atMs.length - MIN_MINUTES));
  return { name, unit, points: minutes.atMs.map((at, number) => [at, values[number]]).slice(first) };
}

function callSeries({ minutes }) {
  return [curve("calls", "per minute", minutes, minutes.calls)];
}

function errorSeries({ minutes }) {
  const codes = Object.entries(minutes.errors);
  const none = [["errors", minutes.calls.map(() => 0)]];
  return (codes.length ? codes : none).map(([name, values]) => curve(name, "per minute", minutes, values));
}

function timeSeries({ minutes }) {
  return [curve("p50", "ms", minutes, minutes.p50Ms), curve("p95", "ms", minutes, minutes.p95Ms)];
}

function calls() {
  const table = new LiveTable("Calls by tool and door, last hour", [
    { title: "Tool", node: ({ tool }) => toolLink(tool) },
    { title: "Door", text: ({ door }) => doorName(door) },
    { title: "Calls", number: true, text: (row) => countText(row.calls) },
    { title: "Errors", number: true, text: (row) => countText(row.errors) },
    { title: "Rate", number: true, text: (row) => shareText(row.errors, row.calls) },
    { title: "p50", number: true, text: (row) => msText(row.p50Ms) },
    { title: "p95", number: true, text: (row) => msText(row.p95Ms) },
    { title: "p99", number: true, text: (row) => msText(row.p99Ms) },
    { title: "Errors by code", wide: true, text: (row) => countsText(row.codes) },
  ], ({ tool, door }) => `${tool}\n${door}`, "No tool was called.");
  return { element: section("Tools and doors", table.element), update: (found) => table.update(found.rows) };
}

function toolLink(tool) {
  if (tool === "" || tool === "…") return h("em", {}, tool === "" ? "unknown tools" : "other tools");
  return h("a", { href: `#/tools/${encodeURIComponent(tool)}` }, shown(tool));
}

function faults() {
  const table = new LiveTable("Errors by code, last hour", [
    { title: "Code", text: ({ code }) => code },
    { title: "Name", text: ({ name }) => name },
    { title: "Calls", number: true, text: (row) => countText(row.calls) },
    { title: "Refused by a limit", text: ({ isLimit }) => (isLimit ? "yes" : "no") },
  ], ({ code, name }) => `${code}\n${name}`, "No call failed.");
  return { element: section("Errors by code", table.element), update: (found) => table.update(found.faults) };
}

function upstreams() {
  const table = new LiveTable("Upstreams, last hour", [
    { title: "Upstream", text: ({ name }) => name || NONE },
    { title: "Address", text: ({ origin }) => origin },
    { title: "Requests", number: true, text: (row) => countText(row.requests) },
    { title: "p50", number: true, text: (row) => msText(row.p50Ms) },
    { title: "p95", number: true, text: (row) => msText(row.p95Ms) },
    { title: "Failures", text: ({ failures }) => countsText(failures) },
    { title: "Last answer", text: (row) => (row.lastCode ? `${row.lastCode} at ${clockText(row.lastAtMs)}` : NONE) },
    { title: "Breaker", text: ({ breaker }) => breaker },
    { title: "Caches", wide: true, text: ({ caches }) => caches.map(cacheText).join("; ") || NONE },
  ], ({ name, origin }) => `${name}\n${origin}`, "The tools of this server ask no other service.");
  const element = section("Upstreams", table.element);
  return {
    element,
    update: (found) => {
      // The tools of wrapped servers ask those servers.
      element.hidden = found.upstreams.length === 0 && found.servers.length > 0;
      table.update(found.upstreams);
    },
  };
}

function cacheText({ name, hits, misses, entries }) {
  const kept = entries === null ? "" : `, ${countText(entries)} kept`;
  return `${name}: ${countText(hits)} of ${countText(hits + misses)} answered${kept}`;
}

function refusals() {
  const table = new LiveTable("Requests refused at the doors, last hour", [
    { title: "Reason", text: ({ reason }) => reason },
    { title: "Status", number: true, text: ({ status }) => (status ? String(status) : NONE) },
    { title: "Requests", number: true, text: (row) => countText(row.requests) },
  ], ({ reason, status }) => `${reason}\n${status}`, "No request was refused.");
  return { element: section("Refused at the doors", table.element), update: (found) => table.update(found.refusals) };
}

function limits() {
  const table = new LiveTable("Limits, and what they hold for", [
    { title: "Limit", text: ({ name }) => name },
    { title: "Holds for", text: ({ scope }) => scope },
    { title: "Value", text: ({ limit }) => limit },
  ], ({ name, scope }) => `${name}\n${scope}`, "There is no limit.");
  return { element: section("Limits", table.element), update: (found) => table.update(found.limits) };
}

function servers() {
  const table = new LiveTable("Wrapped servers", [
    { title: "Server", text: ({ name }) => name },
    { title: "State", text: ({ state }) => state },
    { title: "Restarts", number: true, text: (row) => countText(row.restarts) },
    { title: "Lock", text: lockText },
    { title: "Started by", wide: true, text: ({ source }) => source },
    { title: "Reason", wide: true, text: ({ reason }) => reason || NONE },
  ], ({ name }) => name, "");
  const element = section("Wrapped servers", table.element);
  return {
    element,
    update: (found) => {
      element.hidden = found.servers.length === 0;
      table.update(found.servers);
    },
  };
}

function lockText({ drift, blocked }) {
  if (drift === null) return "not pinned";
  if (drift === 0) return "as pinned";
  const differences = drift === 1 ? "1 difference" : `${countText(drift)} differences`;
  return blocked ? `${differences}, ${countText(blocked)} blocked` : differences;
}

function processes() {
  const table = new LiveTable("Processes of this server", [
    { title: "Process", text: ({ pid, isAnswering }) => (isAnswering ? `${pid} (answers this page)` : String(pid)) },
    { title: "In flight", number: true, text: (row) => countText(row.inFlight) },
    { title: "Journal lag", number: true, text: (row) => secondsText(row.journalLagS) },
    { title: "Records written", number: true, text: (row) => countText(row.recordsWritten) },
  ], ({ pid }) => String(pid), "");
  return { element: section("Processes", table.element), update: (found) => table.update(found.processes) };
}

function countsText(counts) {
  return Object.entries(counts).map(([name, count]) => `${name}: ${timesText(count)}`).join(", ") || NONE;
}

function timesText(count) {
  return count === 1 ? "once" : count === 2 ? "twice" : `${countText(count)} times`;
}

function section(title, ...children) {
  return h("section", { "aria-label": title }, h("h2", {}, title), children);
}
