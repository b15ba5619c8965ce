// The view "clients".

import { h, put } from "./dom.js";

export async function show(place) {
  put(place, h("h1", {}, "clients"));
}
