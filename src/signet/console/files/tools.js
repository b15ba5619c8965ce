// The view "tools".

import { h, put } from "./dom.js";

export async function show(place) {
  put(place, h("h1", {}, "tools"));
}
