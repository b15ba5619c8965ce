// The part of a browser that PlantUML's JavaScript engine uses: a tree of elements that is written as SVG, a canvas that
// measures text by a table of widths, and a queue of timers that runs only when it is asked to. There is no way from
// here to a file, to the network or to the environment: V8 has none, and this file adds none. In a worker of a browser it
// takes the place of what the worker has, so that the same diagram is the same picture there.
(function (global) {
"use strict";

const XLINK = "http://www.w3.org/1999/xlink";
const SVG = "http://www.w3.org/2000/svg";

// A worker has some of these names already, and they cannot be assigned to.
function define(parts) {
  for (const [name, value] of Object.entries(parts)) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}

// ---------------------------------------------------------------- timers

let timers = [];
let nextTimer = 1;

global.setTimeout = (work) => {
  timers.push([nextTimer, work]);
  return nextTimer++;
};
global.clearTimeout = (id) => {
  timers = timers.filter(([other]) => other !== id);
};

// Run every timer that waits, and those that they set in turn. A promise is never used for this: its callbacks would run
// after the evaluation that the caller has put a time limit on.
function drain() {
  while (timers.length) timers.shift()[1]();
}

// ---------------------------------------------------------------- text

let fonts = {};
const CACHE_ENTRIES = 4096;
const cache = new Map();

const isWide = (code) =>
  (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
  (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
  (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);

function face(family, bold) {
  const mono = /mono|courier|consolas|menlo/i.test(family);
  return fonts[(mono ? "mono" : "sans") + (bold ? "-bold" : "")];
}

// The fonts lack PlantUML's sign for null in JSON.
const drawable = (text) => text.replaceAll("\u2400", "\u2205");

function widthOf(text, family, size, bold) {
  const key = `${size} ${bold} ${family} ${text}`;
  let width = cache.get(key);
  if (width === undefined) {
    const { widths, missing } = face(family, bold);
    let units = 0;
    for (const char of drawable(text)) {
      const code = char.codePointAt(0);
      const known = widths[code];
      if (known !== undefined) units += known;
      else if (isWide(code)) units += 1;
      else units += missing;
    }
    width = units * size;
    if (cache.size >= CACHE_ENTRIES) cache.clear();
    cache.set(key, width);
  }
  return width;
}

function measure(text, family, size, bold) {
  const { ascent, descent } = face(family, bold);
  return { width: widthOf(text, family, size, bold), ascent: ascent * size, descent: descent * size };
}

class Context2d {
  constructor(canvas) {
    this.canvas = canvas;
    this.font = "normal 10px sans-serif";
  }
  measureText(text) {
    const [, style, size, family] = /^(.*?)\s*([\d.]+)px\s+(.*)$/.exec(this.font) || ["", "", "10", "sans-serif"];
    const { width, ascent, descent } = measure(String(text), family, Number(size), /bold|[6-9]00/.test(style));
    return {
      width, actualBoundingBoxLeft: 0, actualBoundingBoxRight: width,
      actualBoundingBoxAscent: ascent, actualBoundingBoxDescent: descent,
      fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent,
    };
  }
  createImageData(width, height) {
    return { width, height, data: new Uint8ClampedArray(width * height * 4) };
  }
  putImageData(image) {
    this.canvas.image = image;
  }
}

// ---------------------------------------------------------------- PNG, for sprites

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function chunk(name, data) {
  const body = Uint8Array.from([...name].map((char) => char.charCodeAt(0)).concat(Array.from(data)));
  let crc = 0xffffffff;
  for (const byte of body) crc = crcTable[(crc ^ byte) & 255] ^ (crc >>> 8);
  return [...uint32(data.length), ...body, ...uint32((crc ^ 0xffffffff) >>> 0)];
}

const uint32 = (n) => [(n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];

// One stored block for each row: pictures of sprites are small, and compression is not worth its code.
function png({ width, height, data }) {
  const blocks = [0x78, 0x01];
  let low = 1;
  let high = 0;
  for (let row = 0; row < height; row++) {
    const line = [0, ...data.subarray(row * width * 4, (row + 1) * width * 4)];
    const size = line.length;
    blocks.push(row === height - 1 ? 1 : 0, size & 255, size >>> 8, ~size & 255, (~size >>> 8) & 255, ...line);
    for (const byte of line) {
      low = (low + byte) % 65521;
      high = (high + low) % 65521;
    }
  }
  blocks.push(...uint32(((high << 16) | low) >>> 0));
  const head = [...uint32(width), ...uint32(height), 8, 6, 0, 0, 0];
  const file = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...chunk("IHDR", head), ...chunk("IDAT", blocks)];
  return Uint8Array.from(file.concat(chunk("IEND", [])));
}

// V8 alone has no btoa, and older browsers have no toBase64.
function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  return global.btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

// ---------------------------------------------------------------- elements

class Node {
  constructor(tagName) {
    this.tagName = tagName;
    this.attributes = new Map();
    this.childNodes = [];
    this.parentNode = null;
    this.style = {};
    this.textContent = "";
  }
  get ownerDocument() {
    return document;
  }
  get firstChild() {
    return this.childNodes[0] || null;
  }
  setAttribute(name, value) {
    this.attributes.set(String(name), String(value));
  }
  setAttributeNS(_, name, value) {
    this.setAttribute(name, value);
  }
  getAttribute(name) {
    return this.attributes.has(name) ? this.attributes.get(name) : null;
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  appendChild(child) {
    if (child.parentNode) child.parentNode.removeChild(child);
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }
  insertBefore(child, next) {
    this.appendChild(child);
    if (next) this.childNodes.splice(this.childNodes.indexOf(next), 0, this.childNodes.pop());
    return child;
  }
  removeChild(child) {
    this.childNodes = this.childNodes.filter((other) => other !== child);
    child.parentNode = null;
    return child;
  }
  getBBox() {
    const size = parseFloat(this.getAttribute("font-size")) || 10;
    const bold = /bold|[6-9]00/.test(this.getAttribute("font-weight") || "");
    const family = this.getAttribute("font-family") || "sans-serif";
    const { width, ascent, descent } = measure(this.textContent, family, size, bold);
    return { x: 0, y: -ascent, width, height: ascent + descent };
  }
  getContext() {
    this.context = this.context || new Context2d(this);
    return this.context;
  }
  toDataURL() {
    return "data:image/png;base64," + base64(png(this.image || { width: 1, height: 1, data: new Uint8Array(4) }));
  }
}

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// Characters that XML has no way to write are left out; half a surrogate pair is replaced.
const escape = (text) =>
  // eslint-disable-next-line no-control-regex
  String(text).toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[&<>"]/g, (char) => escapes[char]);

const FAMILIES = { sans: "DejaVu Sans, Verdana, sans-serif", mono: "DejaVu Sans Mono, Menlo, Consolas, monospace" };
const ELEMENTS = new Set([
  "svg", "g", "defs", "title", "desc", "text", "tspan", "rect", "line", "circle", "ellipse", "path", "polygon", "polyline",
  "image", "linearGradient", "radialGradient", "stop", "filter", "feGaussianBlur", "feOffset", "feBlend", "feFlood",
  "feColorMatrix", "feComposite", "clipPath", "pattern", "use", "marker", "mask",
]);

function fitText(node) {
  const family = node.getAttribute("font-family") || "sans-serif";
  node.textContent = drawable(node.textContent);
  if (node.textContent.length > 1 && !node.hasAttribute("text-anchor") && !node.hasAttribute("textLength")) {
    // Drawn with another font, the text still ends where the layout expects it to.
    node.setAttribute("textLength", Math.round(node.getBBox().width * 1000) / 1000);
    node.setAttribute("lengthAdjust", "spacing");
  }
  node.setAttribute("font-family", FAMILIES[/mono|courier|consolas|menlo/i.test(family) ? "mono" : "sans"]);
}

// A picture refers to nothing outside of itself, and does nothing.
function isDrawn(tagName, name, value) {
  if (!/^[A-Za-z_][\w:.-]*$/.test(name) || /^on/i.test(name)) return false;
  if (/^(xlink:)?href$/.test(name)) return value.startsWith("#") || value.startsWith("data:image/png;base64,");
  return !/url\((?!#|"#|'#)/i.test(value);
}

function write(node, out) {
  if (node.instruction !== undefined || !ELEMENTS.has(node.tagName)) return;
  if (node.tagName === "text") fitText(node);
  out.push("<", node.tagName);
  for (const [name, value] of node.attributes) {
    if (isDrawn(node.tagName, name, value)) out.push(" ", name, '="', escape(value), '"');
  }
  const style = Object.entries(node.style).map(([name, value]) => `${name}:${value};`).join("");
  if (style && !node.hasAttribute("style")) out.push(' style="', escape(style), '"');
  if (!node.childNodes.length && node.textContent === "") {
    out.push("/>");
    return;
  }
  out.push(">");
  if (node.childNodes.length) for (const child of node.childNodes) write(child, out);
  else out.push(escape(node.textContent));
  out.push("</", node.tagName, ">");
}

global.XMLSerializer = class {
  serializeToString(node) {
    node.setAttribute("xmlns", SVG);
    node.setAttribute("xmlns:xlink", XLINK);
    const out = [];
    write(node, out);
    return out.join("");
  }
};

// Only PlantUML's own shapes are drawn: a picture that is text in the diagram is never taken over as it is.
global.DOMParser = class {
  parseFromString() {
    return { documentElement: new Node("refused") };
  }
};

const document = {
  body: new Node("body"),
  head: new Node("head"),
  currentScript: { tagName: "SCRIPT", src: "signet:/viz-global.js" },
  createElement: (name) => new Node(name),
  createElementNS: (_, name) => new Node(name),
  createProcessingInstruction: (target, data) => Object.assign(new Node(target), { instruction: data }),
  createTextNode: (text) => Object.assign(new Node("#text"), { textContent: text }),
  getElementById: () => null,
  importNode: (node) => node,
};

// ---------------------------------------------------------------- the window

const refuse = () => {
  throw new Error("there is no network here");
};
const quiet = () => {};

define({
  self: global,
  window: global,
  document,
  location: { href: "signet:/" },
  console: { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet },
  atob: global.atob || ((text) => Array.from(Uint8Array.fromBase64(text), (byte) => String.fromCharCode(byte)).join("")),
  // Ids of elements need no secret, and the same diagram is the same picture every time.
  crypto: { getRandomValues: (array) => array.fill(7) },
  fetch: refuse,
  XMLHttpRequest: refuse,
});

// ---------------------------------------------------------------- what the child process calls

const RESET = ["@startuml", "participant A", "A -> A", "@enduml"];
const loaded = new Set();
let wanted = [];
let graphviz = null;

function renderNow(lines, dark) {
  let answer = { error: "the engine gave no answer" };
  const options = { dark, maxSvgSize: 0 };
  global.plantuml.renderToString(lines, (svg) => (answer = { svg }), (error) => (answer = { error: String(error) }), options);
  drain();
  return answer;
}

global.signet = {
  useFonts: (table) => {
    fonts = table;
  },
  loaded: (name) => {
    loaded.add(name);
  },
  warm: () => {
    renderNow(RESET, false);
  },
  startGraphviz: () => {
    global.Viz.instance().then((instance) => {
      graphviz = instance;
    });
  },
  // Graphviz is started once, and answers through the queue above in place of a promise.
  keepGraphviz: () => {
    if (graphviz === null) return false;
    const kept = {
      then: (work) => {
        global.setTimeout(() => work(graphviz));
        return kept;
      },
      catch: () => kept,
    };
    global.Viz.instance = () => kept;
    return true;
  },
  // What kind of diagram a text is depends on the picture before it, unless that was a sequence diagram.
  render: (source, dark) => {
    timers = [];
    renderNow(RESET, false);
    wanted = [];
    return JSON.stringify({ ...renderNow(source.split("\n"), dark), wanted });
  },
};

// A library that is not loaded yet is refused and noted: the child process loads it, and has the diagram drawn again.
global.PLANTUML_STDLIB_LOADER = (name, done, failed) => {
  global.setTimeout(() => {
    if (loaded.has(name)) return done();
    wanted.push(name);
    failed(`${name} is not part of this installation`);
  });
  return true;
};
})(globalThis);
