// The view "Contracts": what changed between two contract sets, tool by tool, with the example that breaks.

import { get, post } from "./api.js";
import { codeBlock, h, put, save, shown, tell } from "./dom.js";
import { readJson } from "./exact_json.js";

const SIGNS = { breaking: "✕ breaking", removed: "✕ removed", added: "+ added", compatible: "✓ compatible" };
const KINDS = { added: "+", removed: "−", changed: "→" };

export async function show(place) {
  const [{ sets }, { toolsets }] = await Promise.all([get("-/contracts"), get("-/tools")]);
  const names = new Map(toolsets.flatMap(({ tools }) => tools.map(({ slug, name }) => [slug, name])));
  const state = { sets, names, files: {}, only: true };
  const result = h("div", { id: "diff", "aria-live": "polite" });
  const compare = () => showDiff(result, state);
  const released = sets.find(({ name }) => name !== "served");
  const old = choice("old", "Clients rely on", state, released?.name ?? "served", compare);
  const next = choice("new", "and would get", state, "served", compare);
  const only = h("input", { type: "checkbox", id: "only", checked: true, onchange: (event) => {
    state.only = event.target.checked;
    compare();
  } });
  put(
    place,
    h("h1", {}, "Contracts"),
    h("p", {}, "What changed between two contract sets. A change breaks clients if a call that was good is refused, or if a result may have a shape that they were promised never to see; each such change has an example."),
    h("div", { class: "row choices" }, old, next, h("span", {}, only, " ", h("label", { for: "only" }, "only what changed"))),
    h("div", { class: "row" }, sets.map((set) => h("button", {
      type: "button", class: "quiet",
      onclick: () => save(`signet-contracts-${set.name}.json`, JSON.stringify({ tools: set.tools }, null, 2), "application/json"),
    }, `Save the set: ${set.title}`))),
    result,
  );
  await compare();
}

function choice(side, label, state, chosen, compare) {
  state[side] = chosen;
  const file = h("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": `${label}: a file` });
  const select = h("select", { id: `set-${side}`, onchange: () => {
    if (select.value === "file") return file.click();
    state[side] = select.value;
    compare();
  } }, state.sets.map(({ name, title }) => h("option", { value: name }, title)), h("option", { value: "file" }, "a file …"));
  select.value = chosen;
  file.addEventListener("change", async () => {
    try {
      state[side] = await readSet(file.files[0]);
      tell(`${file.files[0].name} is read`);
      compare();
    } catch (error) {
      tell(error.message);
      select.value = chosen;
    }
  });
  return h("span", {}, h("label", { for: select.id }, label), " ", select, file);
}

/** Return the set in a file: one that was saved here, or a server's answer to tools/list. */
async function readSet(file) {
  const found = readJson(await file.text());
  const tools = found?.result?.tools ?? found?.tools;
  if (Array.isArray(tools)) {
    return Object.fromEntries(tools.map((tool) => [tool.name, { input: tool.inputSchema, output: tool.outputSchema ?? true }]));
  }
  if (tools === null || typeof tools !== "object") throw new Error("The file holds no tools");
  return tools;
}

async function showDiff(place, state) {
  place.setAttribute("aria-busy", "true");
  try {
    const diff = await post("-/contracts/diff", { old: state.old, new: state.new });
    const findings = diff.findings.filter((finding) => !state.only || finding.isChange || finding.side === "both");
    const first = findings.find(({ breaks }) => breaks);
    const cards = findings.map((finding) => card(finding, state.names, finding === first));
    put(place, summary(diff), indexOf(findings, cards), cards, findings.length === 0 && h("p", { class: "good" }, "✓ Nothing changed."),
      diff.notServed.length > 0 && h("p", { class: "help" }, `Not served here, so nothing is said of: ${diff.notServed.join(", ")}.`));
  } catch (error) {
    put(place, h("p", { class: "failure", role: "alert" }, shown(error.message)));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

function summary(diff) {
  const tools = (wanted) => new Set(diff.findings.filter(wanted).map(({ tool }) => tool)).size;
  const parts = [
    `${tools(() => true)} tools`,
    `${tools(({ breaks }) => breaks)} with a change that breaks`,
    `${tools(({ verdict }) => verdict === "added")} added`,
  ];
  return h("p", { class: `summary ${diff.breaks ? "bad" : "good"}` }, diff.breaks ? "✕ " : "✓ ", parts.join(", "), ".");
}

/** The tools of a comparison in a row; one that is chosen is brought into sight and unfolded. */
function indexOf(findings, cards) {
  const places = new Map();
  findings.forEach((finding, at) => places.has(finding.tool) || places.set(finding.tool, at));
  if (places.size < 2) return null;
  const go = (one) => {
    for (const details of one.querySelectorAll(":scope > details")) details.open = true;
    one.querySelector("h2").focus({ preventScroll: true });
    one.scrollIntoView({ block: "start" });
  };
  const breaks = (tool) => findings.some((finding) => finding.tool === tool && finding.breaks);
  const button = ([tool, at]) => h("li", {},
    h("button", { type: "button", class: "quiet", onclick: () => go(cards[at]) },
      h("span", { class: breaks(tool) ? "bad" : "good" }, breaks(tool) ? "✕ " : "✓ "), shown(tool)));
  return h("nav", { class: "index", "aria-label": "Tools of the comparison" }, h("ul", {}, [...places].map(button)));
}

function card(finding, names, isOpen) {
  const { tool, verdict, changes } = finding;
  const side = finding.side === "both" ? "" : ` · ${finding.side}`;
  const name = names.get(tool);
  const rules = changes.filter((one) => !isText(one));
  const body = [example(finding, side), list(rules, "rule"), list(changes.filter(isText), "text")].filter(Boolean);
  return h(
    "article",
    { class: `card ${finding.breaks ? "breaks" : ""}` },
    h("h2", { tabindex: "-1" }, shown(tool), side, " ", h("span", { class: `verdict ${verdict}` }, SIGNS[verdict])),
    name && name !== tool && h("p", { class: "help" }, "the tool ", h("code", {}, shown(name))),
    h("p", {}, shown(finding.why)),
    body.length > 0 && h("details", { open: isOpen }, h("summary", {}, contents(finding, rules.length)), body),
  );
}

/** Say what is folded: the example, and how many changes. */
function contents({ hasExample, changes }, rules) {
  const counted = (count, noun) => count > 0 && `${count} ${noun}${count === 1 ? "" : "s"} changed`;
  return [hasExample && "An example", counted(rules, "rule"), counted(changes.length - rules, "text")].filter(Boolean).join(", ");
}

function example({ hasExample, example: given, side, tool }, sideText) {
  const title = side === "input" ? "Arguments that were good and are refused" : "A result that clients were promised never to see";
  const label = h("span", {}, "the example of ", shown(tool), sideText).textContent;
  return hasExample && [h("h3", {}, title), codeBlock(JSON.stringify(given, null, 2), label)];
}

/** Tell whether a change is one of words that people and models read, which breaks no call. */
function isText({ path }) {
  return path.at(-2) !== "properties" && ["description", "title", "examples", "$comment"].includes(path.at(-1));
}

function list(changes, noun) {
  if (changes.length === 0) return null;
  const count = `${changes.length} ${noun}${changes.length === 1 ? "" : "s"} changed`;
  return h("details", {}, h("summary", {}, count), h("ul", { class: "changes" }, changes.map(change)));
}

function change({ path, kind, before, after }) {
  const value = (mark, text, name) => h(name, {}, h("span", { class: "sign" }, mark), h("code", {}, shown(JSON.stringify(text))));
  return h(
    "li",
    { class: kind },
    h("code", { class: "path" }, `${KINDS[kind]} `, shown(path.join(" › ") || "the whole schema")),
    kind !== "added" && value("− ", before, "del"),
    kind !== "removed" && value("+ ", after, "ins"),
  );
}
