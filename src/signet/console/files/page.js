// The page that the server renders from Markdown. The server writes no HTML of the text's author; here every element
// and attribute is looked at once more, and only those of a list are taken over.

import { isSafe, put, shown } from "./dom.js";

const FIRST_LEVEL = 3;
const HTML = "http://www.w3.org/1999/xhtml";
const MATH = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(
  ("a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul").split(" "));
const MATH_ELEMENTS = new Set(
  ("math mrow mi mn mo mtext mspace ms msup msub msubsup mover munder munderover mfrac msqrt mroot mtable mtr mtd " +
  "mstyle mpadded mphantom menclose mmultiscripts mprescripts none").split(" "));
const MATH_ATTRIBUTES = new Set(
  ("display displaystyle scriptlevel mathvariant stretchy fence form separator lspace rspace minsize maxsize " +
  "movablelimits accent accentunder linethickness columnalign rowalign columnspacing rowspacing columnlines " +
  "rowlines width height depth voffset notation largeop symmetric").split(" "));

/** Show a page in a place. */
export function showPage(place, html) {
  const page = document.createElement("div");
  page.className = "page";
  const { body } = new DOMParser().parseFromString(html, "text/html");
  page.append(...adopted(body, { levels: levelsOf(body), tables: 0 }));
  put(place, page);
  new ResizeObserver(() => letScroll(page)).observe(page);
}

/** Return the level of each kind of heading here: the first is below the result's own, and none is left out. */
function levelsOf(body) {
  const used = ["h1", "h2", "h3", "h4", "h5", "h6"].filter((name) => body.querySelector(name));
  return new Map(used.map((name, at) => [name, Math.min(FIRST_LEVEL + at, 6)]));
}

/** Let formulas that are wider than the page scroll in their place, also with the keyboard. */
function letScroll(page) {
  const isLong = (one) => one.firstChild.getBoundingClientRect().width > page.clientWidth;
  for (const [one, long] of [...page.querySelectorAll(".formula")].map((one) => [one, isLong(one)])) {
    one.classList.toggle("long", long);
    long ? one.setAttribute("tabindex", "0") : one.removeAttribute("tabindex");
  }
  for (const one of page.querySelectorAll('math[display="block"]')) {
    one.scrollWidth > one.clientWidth ? one.setAttribute("tabindex", "0") : one.removeAttribute("tabindex");
  }
}

function adopted(from, state) {
  return [...from.childNodes].flatMap((node) => {
    if (node.nodeType === Node.TEXT_NODE) return from.namespaceURI === MATH ? [node.data] : shown(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return [];
    return [element(node, state)];
  });
}

function element(node, state) {
  const name = node.localName;
  if (node.namespaceURI === MATH && MATH_ELEMENTS.has(name)) {
    const made = document.createElementNS(MATH, name);
    for (const { name: key, value } of node.attributes) if (MATH_ATTRIBUTES.has(key)) made.setAttribute(key, value);
    made.append(...adopted(node, state));
    return name === "math" && node.getAttribute("display") !== "block" ? formula(made) : made;
  }
  if (node.namespaceURI !== HTML || !ELEMENTS.has(name)) return document.createTextNode(node.textContent);
  const level = state.levels.get(name);
  const made = document.createElement(level ? `h${level}` : name);
  if (level) made.className = `level-${name[1]}`;
  if (name === "a") link(made, node);
  if (name === "ol" && /^\d{1,9}$/.test(node.getAttribute("start") ?? "")) made.setAttribute("start", node.getAttribute("start"));
  made.append(...adopted(node, state));
  if (name === "pre") readable(made, "Code");
  return name === "table" ? scrolling(made, ++state.tables) : made;
}

function link(made, node) {
  const address = node.getAttribute("href") ?? "";
  if (!isSafe(address) || !/^https?:/i.test(address)) return;
  made.setAttribute("href", address);
  made.setAttribute("rel", "noopener noreferrer nofollow");
  made.setAttribute("target", "_blank");
  made.setAttribute("referrerpolicy", "no-referrer");
}

/** A formula among words. */
function formula(math) {
  const box = document.createElement("span");
  box.className = "formula";
  box.append(math);
  return box;
}

/** A wide table scrolls by itself, and not the whole page. */
function scrolling(table, number) {
  const box = document.createElement("div");
  box.className = "scroll";
  box.append(table);
  return readable(box, `Table ${number}`);
}

/** What may scroll by itself is reached with the keyboard. */
function readable(box, label) {
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  return box;
}
