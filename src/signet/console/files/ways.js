// How a call is made from outside: one tab for each door, and Python.

import { Refusal, ROOT, post } from "./api.js";
import { codeBlock, h, put, shown, tell } from "./dom.js";

const TABS = [["rest", "REST"], ["mcp", "MCP"], ["envelope", "Envelope"], ["python", "Python"]];
/** The largest arguments for which the server writes texts, in bytes of JSON. */
const MAX_BYTES = 4096;
const PLAIN = /^[\w:/.\-[\]%~]+$/;

/** Return {element(read), update(arguments)}: the texts are for the first example, and then for what is called. */
export function waysPart(tool, app) {
  const panel = h("div", { role: "tabpanel", id: "ways-panel", "aria-labelledby": "way-rest", tabindex: "0" });
  let current = { ways: tool.ways, url: tool.url };
  let why = "";
  let chosen = "rest";
  const wantsToken = tool.ways.some((way) => way.text.includes("$SIGNET_TOKEN"));
  const tabs = TABS.map(([name, title], index) => h("button", {
    type: "button", role: "tab", id: `way-${name}`, "aria-controls": "ways-panel", class: "tab",
    onclick: () => choose(name), onkeydown: (event) => step(event, index),
  }, title));

  function choose(name) {
    chosen = name;
    TABS.forEach(([own], index) => {
      tabs[index].setAttribute("aria-selected", String(own === name));
      tabs[index].tabIndex = own === name ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `way-${name}`);
    const ways = current.ways.filter((way) => way.name.split("-")[0] === name);
    const block = (way) => codeBlock(here(way.text, current.url, app), `how to call it: ${way.title}`);
    put(panel, why && h("p", { class: "note", role: "status" }, shown(why)), ways.map((way) => [ways.length > 1 && h("h3", {}, way.title), block(way)]));
  }

  function step(event, index) {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + TABS.length) % TABS.length;
    choose(TABS[next][0]);
    tabs[next].focus();
  }

  /** Write the texts for some arguments; where they are too large for that, show those of the example and say why. */
  async function update(args) {
    try {
      const size = new TextEncoder().encode(JSON.stringify(args)).length;
      if (size > MAX_BYTES) throw new Refusal(400, { message: `The arguments have more than ${MAX_BYTES} bytes` });
      current = await post(`-/tools/${encodeURIComponent(tool.name)}`, { arguments: args });
      why = "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      current = { ways: tool.ways, url: tool.url };
      why = `${error.message}. What is below is for the first example.`;
    }
    choose(chosen);
    return why === "";
  }

  const element = (read) => h("section", { class: "part ways" },
    h("h2", {}, "How to call it"),
    h("p", { class: "help" },
      "Ready to run", wantsToken && [", with the token in ", h("code", {}, "SIGNET_TOKEN")],
      ". To give the tools to a client, such as an editor, see ", h("a", { href: "#/clients" }, "Clients"), "."),
    h("div", { class: "row" },
      h("div", { role: "tablist", "aria-label": "How to call it", class: "tabs" }, tabs),
      h("button", { type: "button", class: "quiet", onclick: () => fromForm(read) }, "Write it for the form")),
    panel);

  async function fromForm(read) {
    try {
      tell((await update(read() ?? {})) ? "Written for the arguments of the form" : why);
    } catch (error) {
      put(panel, h("p", { class: "failure", role: "alert" }, shown(error.message)));
    }
  }

  choose(chosen);
  return { element, update };
}

/** Return a text with the address by which this page was reached, unless the server has a public one. */
function here(text, url, app) {
  const own = ROOT.href.replace(/\/$/, "");
  return app.about.root || !PLAIN.test(own) ? text : text.replaceAll(url, own);
}
