// Searches a JSON value for a text, in names and values, with bounded work.

import { ExactNumber } from "./exact_json.js";

const MAX_NODES = 500_000;
const MAX_FOUND = 1_000;

/** Return the paths of what has a text in its name or value, in order; `complete` tells whether all was searched. */
export function findAll(value, text) {
  const found = [];
  found.complete = true;
  const needle = text.toLowerCase();
  if (!needle) return found;
  const waiting = [{ value, name: null, above: null }];
  let visited = 0;
  while (waiting.length) {
    const node = waiting.pop();
    visited += 1;
    if (visited > MAX_NODES || found.length >= MAX_FOUND) {
      found.complete = false;
      break;
    }
    if (matches(node, needle)) found.push(pathTo(node));
    if (isFolder(node.value)) pushChildren(waiting, node);
  }
  return found;
}

/** Tell whether a value holds others. */
export function isFolder(value) {
  return value !== null && typeof value === "object" && !(value instanceof ExactNumber);
}

function matches({ name, value }, needle) {
  if (typeof name === "string" && name.toLowerCase().includes(needle)) return true;
  return !isFolder(value) && String(value).toLowerCase().includes(needle);
}

function pushChildren(waiting, node) {
  const names = Array.isArray(node.value) ? [...node.value.keys()] : Object.keys(node.value);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    waiting.push({ value: node.value[names[index]], name: names[index], above: node });
  }
}

function pathTo(node) {
  const path = [];
  for (let one = node; one.name !== null; one = one.above) path.unshift(one.name);
  return path;
}
