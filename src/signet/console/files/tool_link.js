// A call that a result proposes, {tool, arguments}, as a link to the form of that tool. The names of the tools are
// asked for once, and only when a result proposes a call.

import { get } from "./api.js";
import { h, shown } from "./dom.js";
import { isObject } from "./schema_check.js";

const MAX_ADDRESS = 8_000;
let names = null;

/** Return the address of a tool's form with arguments. */
export function toolAddress(name, args) {
  return `#/tools/${encodeURIComponent(name)}/${encodeURIComponent(JSON.stringify(args))}`;
}

/** Tell whether a value has the form of a proposed call. */
export function isProposal(value) {
  return isObject(value) && typeof value.tool === "string" && isObject(value.arguments);
}

/** Return a place in which a link appears if the server has the tool. */
export function proposalLink({ tool, arguments: args }) {
  const place = h("span", { class: "proposal" });
  names ??= get("-/tools").then(namesIn).catch(() => new Set());
  names.then((known) => {
    const href = known.has(tool) ? toolAddress(tool, args) : "";
    if (!href || href.length > MAX_ADDRESS) return;
    place.append(" ", h("a", { href }, "Open ", shown(tool), " with these arguments"));
  });
  return place;
}

const namesIn = ({ toolsets }) => new Set(toolsets.flatMap(({ tools }) => tools.map((tool) => tool.name)));
