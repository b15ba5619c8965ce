// A plain editor: the browser's own text field, so that typing, undo, search and screen readers work as everywhere,
// with line numbers beside it and coloured text behind it. Only the lines in sight are built, however many there are.

import { h, put } from "./dom.js";

const INDENT = "  ";
const MAX_COLOURED_CHARS = 500;
// Browsers take seconds to insert thousands of lines by a command that can be undone.
const MAX_UNDONE_LINES = 300;
const WORDS = [
  ["comment", /^\s*'.*/],
  ["frame", /^\s*@(?:start|end)[a-z]*/i],
  ["directive", /^\s*!\w+/],
  ["string", /"[^"]*"/],
  ["arrow", new RegExp(
    "(?:(?<!\\w)[ox])?[<*|}#]*[-.=~]{1,3}(?:\\[[^\\]\\s]*\\]|left|right|up|down|[lrud])?[-.=~]{0,3}"
      + "(?:[>*|{#]+(?:[ox](?!\\w))?|[ox](?!\\w))|[<*|]+[-.]{1,2}",
  )],
  ["colour", /#[0-9A-Fa-f]{6}\b|#[A-Za-z]{3,}\b/],
  ["keyword", new RegExp(`^\\s*(?:${[
    "abstract", "activate", "actor", "agent", "alt", "and", "annotation", "artifact", "autonumber", "boundary",
    "box", "break", "class", "cloud", "collections", "component", "control", "database", "deactivate", "destroy",
    "else", "elseif", "end", "endif", "endwhile", "entity", "enum", "extends", "file", "folder", "footer", "fork",
    "frame", "group", "header", "hide", "if", "implements", "interface", "legend", "loop", "map", "namespace", "node",
    "note", "object", "opt", "package", "par", "participant", "partition", "queue", "rectangle", "ref", "repeat",
    "return", "show", "skinparam", "start", "state", "stop", "switch", "title", "together", "usecase", "while",
  ].join("|")})\\b|\\b(?:as|then)\\b`)],
];
const TOKEN = new RegExp(WORDS.map(([name, pattern]) => `(?<${name}>${pattern.source})`).join("|"), "g");

/** Make an editor; `onInput` is called with its text after each change. */
export function makeEditor({ id, describedBy, onInput }) {
  const field = h("textarea", {
    id, wrap: "off", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": describedBy,
  });
  const numbers = h("div", { class: "numbers" });
  const colours = h("div", { class: "colours" });
  const bar = h("div", { class: "bad-line", hidden: true });
  const element = h(
    "div", { class: "editor" },
    h("div", { class: "gutter", "aria-hidden": "true" }, numbers),
    h("div", { class: "sheet" }, h("div", { class: "behind", "aria-hidden": "true" }, bar, colours), field),
  );
  let lines = [""];
  let bad = null;
  let asked = 0;

  const paint = () => {
    asked = 0;
    const height = parseFloat(getComputedStyle(field).lineHeight) || 20;
    const first = Math.max(0, Math.floor(field.scrollTop / height) - 2);
    const last = Math.min(lines.length, first + Math.ceil(field.clientHeight / height) + 5);
    const down = first * height - field.scrollTop;
    const seen = lines.slice(first, last);
    put(numbers, seen.map((_, at) => number(first + at + 1, bad)));
    put(colours, seen.map((line) => h("div", {}, coloured(line))));
    numbers.style.transform = `translateY(${down}px)`;
    colours.style.transform = `translate(${-field.scrollLeft}px, ${down}px)`;
    numbers.parentNode.style.width = `${String(lines.length).length + 3.5}ch`;
    bar.hidden = bad === null;
    if (bad !== null) bar.style.transform = `translateY(${(bad - 1) * height - field.scrollTop}px)`;
  };
  const repaint = () => (asked ||= requestAnimationFrame(paint));
  const changed = () => {
    lines = field.value.split("\n");
    repaint();
    onInput(field.value);
  };

  field.addEventListener("input", changed);
  field.addEventListener("scroll", repaint);
  field.addEventListener("keydown", tabKey(field));
  const watch = new ResizeObserver(repaint);
  watch.observe(field);

  return {
    element, field,
    /** Replace the whole text; where it is not too long for that, it can be undone. */
    write(text) {
      field.focus({ preventScroll: true });
      field.select();
      insert(field, text);
      field.setSelectionRange(0, 0);
      field.scrollTo(0, 0);
    },
    /** Mark a line as bad, counted from 1; null for none. */
    mark(line) {
      bad = line;
      line === null ? field.removeAttribute("aria-invalid") : field.setAttribute("aria-invalid", "true");
      repaint();
    },
    /** Put the cursor into a line, and the line into sight. */
    jump(line) {
      const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
      field.focus();
      field.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
      const height = parseFloat(getComputedStyle(field).lineHeight) || 20;
      field.scrollTop = Math.max(0, (line - 0.5) * height - field.clientHeight / 2);
      repaint();
    },
    close: () => watch.disconnect(),
  };
}

function number(line, bad) {
  return h("div", { class: line === bad ? "bad" : null }, line === bad ? `✕ ${line}` : String(line));
}

function coloured(line) {
  const parts = [];
  let at = 0;
  for (const found of line.slice(0, MAX_COLOURED_CHARS).matchAll(TOKEN)) {
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    parts.push(line.slice(at, found.index), h("span", { class: kind }, found[0]));
    at = found.index + found[0].length;
  }
  parts.push(line.slice(at));
  return parts;
}

/** Return what Tab does: it indents, and after Esc it leaves the field as everywhere. */
function tabKey(field) {
  let leaves = false;
  field.addEventListener("blur", () => (leaves = false));
  return (event) => {
    if (event.key === "Escape") leaves = true;
    else if (event.key !== "Tab" || event.ctrlKey || event.altKey || event.metaKey) {
      leaves = leaves && event.key === "Shift";
    } else if (!leaves) {
      event.preventDefault();
      indent(field, event.shiftKey);
    }
  };
}

/** Put a text in the place of what is selected, so that it can be undone where it is not too long for that. */
function insert(field, text) {
  const isShort = text.split("\n", MAX_UNDONE_LINES + 1).length <= MAX_UNDONE_LINES;
  if (isShort && document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input"));
}

function indent(field, isBack) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  if (start === end && !isBack) {
    insert(field, INDENT);
    return;
  }
  const from = value.lastIndexOf("\n", start - 1) + 1;
  const lines = value.slice(from, end).split("\n");
  const changed = lines.map((line) => (isBack ? line.replace(/^( {1,2}|\t)/, "") : INDENT + line)).join("\n");
  if (changed === value.slice(from, end)) return;
  field.setSelectionRange(from, end);
  insert(field, changed);
  field.setSelectionRange(lines.length > 1 ? from : from + changed.length, from + changed.length);
}
