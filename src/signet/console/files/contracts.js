// The view "Contracts": what changed between two contract sets, tool by tool, with the example that breaks.

import { get, post } from "./api.js";
import { codeBlock, h, put, save, shown, tell } from "./dom.js";
import { readJson } from "./exact_json.js";

const SIGNS = { breaking: "✕ breaking", removed: "✕ removed", added: "+ added", compatible: "✓ compatible" };
const KINDS = { added: "+", removed: "−", changed: "→" };

export async function show(place) {
  const { sets } = await get("-/contracts");
  const state = { sets, files: {}, only: true };
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
    put(place, summary(diff), findings.map(card), findings.length === 0 && h("p", { class: "good" }, "✓ Nothing changed."),
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

function card(finding) {
  const side = finding.side === "both" ? "" : ` · ${finding.side}`;
  return h(
    "article",
    { class: `card ${finding.breaks ? "breaks" : ""}` },
    h("h2", {}, shown(finding.tool), side, " ", h("span", { class: `verdict ${finding.verdict}` }, SIGNS[finding.verdict])),
    h("p", {}, shown(finding.why)),
    finding.hasExample && [
      h("h3", {}, finding.side === "input" ? "Arguments that were good and are refused" : "A result that clients were promised never to see"),
      codeBlock(JSON.stringify(finding.example, null, 2), "the example"),
    ],
    list(finding.changes.filter((one) => !isText(one)), "rule", finding.breaks),
    list(finding.changes.filter(isText), "text", false),
  );
}

/** Tell whether a change is one of words that people and models read, which breaks no call. */
function isText({ path }) {
  return path.at(-2) !== "properties" && ["description", "title", "examples", "$comment"].includes(path.at(-1));
}

function list(changes, noun, open) {
  if (changes.length === 0) return null;
  const count = `${changes.length} ${noun}${changes.length === 1 ? "" : "s"} changed`;
  return h("details", { open }, h("summary", {}, count), h("ul", { class: "changes" }, changes.map(change)));
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
