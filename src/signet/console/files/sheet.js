// Loads the style sheet of a part that several views show.

import { h } from "./dom.js";

const loaded = new Set();

/** Load a style sheet beside this file, once. */
export function useSheet(name) {
  if (loaded.has(name)) return;
  loaded.add(name);
  document.head.append(h("link", { rel: "stylesheet", href: new URL(name, import.meta.url).href }));
}
