// The page of one tool: its form, the result and its road, the contract, examples, and how to call it from outside.

import { get, post } from "./api.js";
import { contractPart } from "./contract.js";
import { codeBlock, copyButton, h, put, shown, tell } from "./dom.js";
import { schemaForm } from "./form.js";
import { waysPart } from "./ways.js";

const MAX_KEPT = 30;
const SHORT = 100;
const kept = new Map();

/** Show a tool; `given` is the JSON of arguments to begin with, or empty. */
export async function showTool(place, name, given, app) {
  const tool = await get(`-/tools/${encodeURIComponent(name)}`);
  const form = formOf(tool);
  const told = givenArguments(given, form);
  const empty = h("p", { class: "help" }, "The result of a call is shown here.");
  const result = h("div", { class: "result" }, empty);
  const doors = h("div", { class: "doors-place" });
  const ways = waysPart(tool, app);
  const doorsRow = doorsButton(tool, form, doors);
  form.send = async (args) => {
    // A result has the doors for its own arguments.
    doorsRow.hidden = await call(tool, args, form, result, ways, app);
    if (doorsRow.hidden) put(doors);
  };
  document.title = `${tool.name} · Tools · Signet`;
  put(place,
    h("p", { class: "path" }, h("a", { href: "#/tools" }, "Tools"), " / ", shown(tool.toolset)),
    h("h1", { class: "mono" }, shown(tool.name)),
    h("p", { class: "title" }, shown(tool.title)),
    h("p", { class: "description" }, shown(tool.description)),
    marks(tool), notes(tool), told,
    h("div", { class: "columns two" },
      section("Arguments", form.element, linkRow(tool, form)),
      section("Result", result, doorsRow, doors)),
    examplesPart(tool, form),
    section("Contract",
      contractPart("Input", tool.input, tool.inputSchema),
      contractPart("Output", tool.output, tool.outputSchema)),
    ways.element(() => form.value()));
}

/** The marks of a tool in the catalogue and on its page. */
export function marks(tool) {
  const words = [
    tool.annotations.readOnlyHint ? "read-only" : "may change things",
    tool.annotations.openWorldHint && "asks a service",
    tool.public && "open to any page",
    !tool.mayCall && "not yours to call",
  ];
  const classOf = (word) => (word === "may change things" ? "mark warn" : "mark");
  return h("p", { class: "marks" }, words.filter(Boolean).map((word) => h("span", { class: classOf(word) }, word)));
}

function notes(tool) {
  if (!tool.mayCall) {
    const why = "your token does not have the scope tools:call.";
    return h("p", { class: "note" }, `You can look at this tool, but not call it: ${why}`);
  }
  if (tool.annotations.readOnlyHint) return null;
  const what = "a call may change something. It is a real call, as an agent would make it.";
  return h("p", { class: "note" }, `This tool is not marked as read-only: ${what}`);
}

function section(title, ...parts) {
  return h("section", { class: "part" }, h("h2", {}, title), parts);
}

/** Return the form of a tool: what was typed stays while the page is open. */
function formOf(tool) {
  const key = JSON.stringify([tool.name, tool.inputSchema, tool.mayCall]);
  if (kept.has(key)) return kept.get(key);
  const form = {};
  Object.assign(form, schemaForm(tool.inputSchema, {
    contract: tool.input,
    nullArguments: tool.nullArguments,
    example: tool.examples[0]?.arguments,
    readOnly: !tool.mayCall,
    onSend: (args) => form.send(args),
  }));
  kept.set(key, form);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
  return form;
}

function givenArguments(given, form) {
  if (!given) return null;
  try {
    const args = JSON.parse(given);
    if (typeof args !== "object" || args === null || Array.isArray(args)) throw new Error("it is not an object");
    form.set(args);
    return null;
  } catch (error) {
    const why = shown(`The arguments in the address cannot be read: ${error.message}`);
    return h("p", { class: "failure", role: "alert" }, why);
  }
}

function linkRow(tool, form) {
  const link = () => {
    const [name, args] = [tool.name, JSON.stringify(form.value() ?? {})].map(encodeURIComponent);
    return `${location.href.replace(/#.*/s, "")}#/tools/${name}/${args}`;
  };
  return h("p", { class: "row link-row" }, copyButton(link, "Copy a link to these arguments"));
}

/** Call the tool and show its answer; return whether there was one. */
async function call(tool, args, form, result, ways, app) {
  const send = form.element.querySelector("button[type=submit]");
  send.disabled = true;
  result.setAttribute("aria-busy", "true");
  put(result, h("p", { class: "help" }, "Calling …"));
  try {
    const asked = post("-/call", { tool: tool.name, arguments: args });
    const [answer, { showCall }] = await Promise.all([asked, import("./result.js")]);
    put(result);
    await showCall(result, answer, app);
    if (answer.error?.code === "INVALID_INPUT" && answer.places.length) form.showPlaces(answer.places);
    else result.scrollIntoView({ block: "nearest" });
    tell(answer.ok ? "The tool answered" : "The call failed");
    ways.update(args).catch(() => tell("The texts below could not be written for this call"));
    return true;
  } catch (error) {
    put(result, h("p", { class: "failure", role: "alert" }, shown(error.message)));
    return false;
  } finally {
    send.disabled = false;
    result.removeAttribute("aria-busy");
  }
}

function doorsButton(tool, form, place) {
  const run = async (event) => {
    const button = event.target;
    button.disabled = true;
    try {
      const { showDoors } = await import("./doors.js");
      await showDoors(place, tool.name, form.value() ?? {});
    } catch (error) {
      put(place, h("p", { class: "failure", role: "alert" }, shown(error.message)));
    } finally {
      button.disabled = false;
    }
  };
  const attributes = { type: "button", class: "quiet", disabled: !tool.mayCall, onclick: run };
  return h("p", { class: "row" }, h("button", attributes, "Same call through all doors"));
}

function examplesPart(tool, form) {
  if (!tool.examples.length) return null;
  const use = (args) => {
    form.set(args);
    form.element.scrollIntoView({ block: "nearest" });
    form.element.querySelector("button[type=submit]").focus({ preventScroll: true });
    tell("The form has these arguments now");
  };
  const card = ({ name, arguments: args }) => {
    const attributes = { type: "button", class: "quiet", "aria-label": `Use this: ${name}`, onclick: () => use(args) };
    const short = JSON.stringify(args);
    const text = short.length <= SHORT ? short : JSON.stringify(args, null, 2);
    const head = h("div", { class: "row" }, h("strong", {}, shown(name)), h("button", attributes, "Use this"));
    return h("li", { class: "card" }, head, codeBlock(text, `arguments: ${name}`));
  };
  return section("Examples", h("ul", { class: "examples" }, tool.examples.map(card)));
}
