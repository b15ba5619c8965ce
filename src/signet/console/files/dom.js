// Builds elements. Text that comes from outside only ever becomes a text node or the value of a known attribute:
// nothing here parses HTML, and no address but a plain http(s) one or a place on this page becomes a link.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("p", {class: "note", onclick: f}, "text", child, [more]). */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Make an element of SVG. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in element) element.value = value;
    else if (name === "href" && !isSafe(String(value))) continue;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Tell whether an address may be a link: a place on this page, a path of this server, or http(s) elsewhere. */
export function isSafe(address) {
  return /^(#|\/(?!\/)|https?:\/\/)/i.test(address);
}

/** Put new children in the place of all that an element has. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Characters that are not seen, or that turn the direction of writing: a text can look like another by them.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;

/** Return text from outside as nodes in which unseen characters are marks, such as [U+200B]. */
export function shown(text) {
  const nodes = [];
  let at = 0;
  for (const found of String(text).matchAll(UNSEEN)) {
    if (found.index > at) nodes.push(text.slice(at, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(h("span", { class: "unseen", title: "a character that is not seen" }, `U+${code}`));
    at = found.index + found[0].length;
  }
  nodes.push(String(text).slice(at));
  return nodes;
}

const TOLD_MS = 2500;
let told = 0;
/** Tell a short message at the bottom of the page, which screen readers read out. */
export function tell(message) {
  document.getElementById("told").textContent = message;
  clearTimeout(told);
  told = setTimeout(hush, TOLD_MS);
}

/** Take the message away. */
export function hush() {
  document.getElementById("told").textContent = "";
}

/** A button that copies a text. */
export function copyButton(text, label = "Copy") {
  const copy = async () => tell((await copied(typeof text === "function" ? text() : text)) ? "Copied" : "It cannot be copied here");
  return h("button", { type: "button", class: "quiet", onclick: copy }, label);
}

/** Copy a text; tell whether it went. Browsers have a clipboard for pages of https and of this machine alone. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

function copiedBySelection(text) {
  const before = document.activeElement;
  const field = h("textarea", { class: "unseen-field", readonly: true, "aria-hidden": "true", value: text });
  // Beside the button, since what is behind an open dialog cannot be selected.
  (before?.parentNode ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  before?.focus({ preventScroll: true });
  return isDone;
}

/** A block of code with a button to copy it. */
export function codeBlock(text, label) {
  const pre = h("pre", { tabindex: "0", role: "region", "aria-label": label ?? "code" }, h("code", {}, shown(text)));
  return h("div", { class: "code" }, pre, copyButton(text));
}

/** Let the browser save a text or a blob as a file. */
export function save(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = h("a", { download: name });
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
