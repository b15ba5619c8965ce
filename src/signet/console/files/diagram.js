// The view "Diagram": an editor with the picture live beside it. The text is drawn by PlantUML in a worker of this page
// and leaves it only where the person chooses the server's engine, or follows the link.

import { get } from "./api.js";
import { makeEditor } from "./diagram_editor.js";
import { PageEngine, ServerEngine } from "./diagram_engine.js";
import { EXAMPLES } from "./diagram_examples.js";
import { decode, encode } from "./diagram_link.js";
import { makeLink } from "./diagram_link_view.js";
import { makePaper } from "./diagram_paper.js";
import { codeBlock, h, put, save, shown, tell } from "./dom.js";

const PAUSE_MS = 200;
const PATIENCE_MS = 400;
const PAGE = "in this page";
const SERVER = "by this server";
const MAX_IN_ADDRESS = 4000;
const MAX_LOOKED_AT = 200_000;

/** What was written last; it is kept while the person looks at other views. */
const kept = { text: EXAMPLES[0][1][0][1], dark: false, where: null };

export async function show(place, rest) {
  const means = await get("-/diagram");
  const view = new DiagramView(means);
  put(place, view.parts());
  await view.open(rest[0]);
  return () => view.close();
}

class DiagramView {
  constructor(means) {
    this.means = means;
    const possible = [means.inPage && PAGE, means.byServer && SERVER].filter(Boolean);
    if (!possible.includes(kept.where)) kept.where = possible[0] ?? null;
    this.engine = null;
    this.turn = 0;
    this.paper = makePaper();
    this.link = makeLink(means);
    this.editor = makeEditor({
      id: "diagram-text", describedBy: "diagram-problem diagram-keys",
      onInput: (text) => this.changed(text),
    });
    this.problem = h("div", { id: "diagram-problem", class: "problem", role: "status" });
    this.status = h("p", { class: "help drawn", role: "status" });
    this.hidden = h("p", { class: "note", hidden: true });
    this.isEdited = this.isLost = false;
    this.onUnload = (event) => this.isLost && event.preventDefault();
    addEventListener("beforeunload", this.onUnload);
  }

  parts() {
    const keys = "Tab indents. To leave the field with the keyboard, press Esc, then Tab. Lines count from 1.";
    const moves = "In the picture: + and − zoom, 0 is the actual size, F fits; the arrow keys move it.";
    return [
      h("h1", {}, "Diagram"),
      h("div", { class: "row choices" }, this.examples(), this.whereChoice(), this.darkChoice()),
      this.opening(),
      !this.means.inPage && this.hint(),
      h("div", { class: "columns two desk" },
        h("section", {},
          h("div", { class: "row head" },
            h("h2", {}, h("label", { for: "diagram-text" }, "PlantUML text")),
            this.button("Download text", () => save("diagram.puml", this.editor.field.value))),
          this.editor.element, this.problem, this.hidden,
          h("p", { id: "diagram-keys", class: "help" }, keys)),
        h("section", {},
          h("div", { class: "row head" }, h("h2", {}, "Picture"), this.paper.tools,
            this.button("Download SVG", () => this.saveAs("svg")),
            this.button("Download PNG", () => this.saveAs("png"))),
          this.paper.sheet, this.status,
          h("p", { id: "picture-keys", class: "help" }, moves))),
      this.link.element,
    ];
  }

  button(label, onclick) {
    return h("button", { type: "button", class: "quiet", onclick }, label);
  }

  examples() {
    const groups = EXAMPLES.map(([label, list]) =>
      h("optgroup", { label }, list.map(([name]) => h("option", { value: name }, name))));
    const texts = new Map(EXAMPLES.flatMap(([, list]) => list));
    const select = h("select", {
      id: "diagram-example",
      onchange: () => {
        if (texts.has(select.value)) this.editor.write(texts.get(select.value));
        select.value = "";
        select.focus();
      },
    }, h("option", { value: "" }, "Choose…"), groups);
    return h("div", { class: "row" }, h("label", { for: "diagram-example" }, "Example"), select);
  }

  whereChoice() {
    const { means } = this;
    const one = (where, isPossible, title) => h("span", { class: "row one" },
      h("input", {
        type: "radio", name: "where", id: `where-${where.split(" ")[2]}`, value: where, disabled: !isPossible,
        checked: kept.where === where, title, onchange: () => this.drawWhere(where),
      }),
      h("label", { for: `where-${where.split(" ")[2]}` }, where));
    this.radios = h("fieldset", { class: "row where" },
      h("legend", {}, "Drawn"),
      one(PAGE, means.inPage, means.inPage ? "The text stays in this page" : "The engine is not installed here"),
      one(SERVER, means.byServer, means.byServer ? "The text is sent to this server" : "This server draws nothing"));
    return this.radios;
  }

  darkChoice() {
    const box = h("input", {
      type: "checkbox", id: "diagram-dark", checked: kept.dark,
      onchange: () => {
        kept.dark = box.checked;
        this.draw();
      },
    });
    return h("span", { class: "row one" }, box, h("label", { for: "diagram-dark" }, "Dark picture"));
  }

  opening() {
    const field = h("input", {
      id: "diagram-open", type: "text", autocomplete: "off", spellcheck: "false",
      "aria-describedby": "diagram-open-help diagram-open-error",
    });
    const error = h("p", { id: "diagram-open-error", class: "error", role: "alert" });
    const form = h("form", {
      class: "row",
      onsubmit: async (event) => {
        event.preventDefault();
        put(error);
        field.removeAttribute("aria-invalid");
        try {
          this.editor.write(await decode(field.value));
          details.open = false;
          tell("The diagram of the link is in the editor");
        } catch (why) {
          field.setAttribute("aria-invalid", "true");
          put(error, shown(`It cannot be opened: ${why.message}.`));
        }
      },
    },
    h("label", { for: "diagram-open" }, "Link or encoded text"), field,
    h("button", { type: "submit", class: "quiet" }, "Open"));
    const help = h("p", { id: "diagram-open-help", class: "help" },
      "The address of a diagram on any PlantUML server. It is read in this page; the server is not asked.");
    const details = h("details", { class: "opening" }, h("summary", {}, "Open a link"), form, help, error);
    return details;
  }

  hint() {
    const lack = kept.where === null
      ? "Nothing draws diagrams here, since the engine is not installed. The link below works without it."
      : "The text is sent to this server to be drawn, since the engine of the page is not installed.";
    return h("div", { class: "note hint" },
      h("p", {}, `${lack} To draw in this page, type this where the server runs, and reload the page:`),
      codeBlock(this.means.install, "How to install the engine"));
  }

  /** Show the text of the address, if there is one, else what was written last. */
  async open(encoded) {
    let text = kept.text;
    try {
      if (encoded) text = await decode(encoded);
    } catch (error) {
      tell(`The address holds no diagram: ${error.message}`);
    }
    this.opened = text;
    this.editor.field.value = text;
    this.editor.field.dispatchEvent(new Event("input"));
  }

  changed(text) {
    kept.text = text;
    this.paper.wait(true);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), PAUSE_MS);
  }

  drawWhere(where) {
    kept.where = where;
    this.engine?.close();
    this.engine = null;
    this.draw();
  }

  async draw() {
    const mine = ++this.turn;
    this.paper.wait(true);
    await this.drawNow(mine, kept.text);
    if (mine === this.turn) this.paper.wait(false);
  }

  async drawNow(mine, text) {
    this.link.update(text);
    this.tellHidden(text);
    this.keepInAddress(mine, text);
    if (kept.where === null) return this.paper.clear("No engine is installed, so nothing is drawn.");
    if (!text.trim()) return this.drawnNothing();
    const isNew = this.engine === null;
    this.engine ??= kept.where === PAGE ? new PageEngine() : new ServerEngine();
    if (isNew && kept.where === PAGE) this.told(`Loading PlantUML ${this.means.version} into this page, once (2 MB).`);
    const patience = setTimeout(() => !isNew && mine === this.turn && this.told("Drawing…"), PATIENCE_MS);
    const drawn = await this.engine.draw(text, kept.dark);
    clearTimeout(patience);
    if (drawn === null || mine !== this.turn) return;
    if (drawn.svg === undefined) return this.failed(drawn);
    await this.paper.show(drawn);
    if (mine !== this.turn) return;
    put(this.problem);
    this.editor.mark(null);
    const { version, serverEngine } = this.means;
    const where = kept.where === PAGE ? `in this page by PlantUML ${version}` : `by this server (${serverEngine})`;
    this.told(`Drawn ${where}.`);
  }

  /** Keep an edited text in the address, so that it is there after a reload; a long one is warned of instead. */
  async keepInAddress(mine, text) {
    this.isEdited ||= text !== this.opened;
    if (!this.isEdited) return;
    this.isLost = text.length > MAX_LOOKED_AT;
    const encoded = this.isLost || !text.trim() ? "" : await encode(text);
    if (mine !== this.turn) return;
    this.isLost ||= encoded.length >= MAX_IN_ADDRESS;
    const end = encoded && !this.isLost ? `/${encoded}` : "";
    history.replaceState(history.state, "", `#/diagram${end}`);
  }

  drawnNothing() {
    this.engine?.close();
    this.engine = null;
    put(this.problem);
    this.editor.mark(null);
    this.told("");
    this.paper.clear("Write a diagram, or choose an example.");
  }

  failed({ message, line, unsupported, isBroken }) {
    if (isBroken && this.means.byServer) {
      tell("The engine does not run in this page: the server draws");
      this.means.inPage = false;
      for (const radio of this.radios.querySelectorAll("input")) {
        radio.checked = radio.value === SERVER;
        radio.disabled = radio.value === PAGE;
      }
      return this.drawWhere(SERVER);
    }
    const more = unsupported && kept.where === PAGE && this.means.byServer ? "; the server may draw it" : "";
    const words = shown(`${message}${more}`);
    this.editor.mark(line ?? null);
    const onclick = () => this.editor.jump(line);
    const jump = line && h("button", { type: "button", class: "jump", onclick }, `Line ${line}`);
    put(this.problem, h("span", { class: "sign", "aria-hidden": "true" }, "✕"), line ? [jump, ": ", words] : words);
    this.paper.age();
    this.told(this.paper.svg() ? "The picture is that of the last text that could be drawn." : "");
  }

  told(words) {
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  /** Tell of characters that are not seen in the editor, and may make a text look like another. */
  tellHidden(text) {
    const nodes = shown(text.slice(0, MAX_LOOKED_AT));
    const marks = nodes.filter((node) => node instanceof Element).map((node) => node.textContent);
    this.hidden.hidden = !marks.length;
    const names = [...new Set(marks)].slice(0, 5).join(", ");
    put(this.hidden, marks.length ? `The text has characters that are not seen: ${names}.` : "");
  }

  async saveAs(form) {
    const svg = this.paper.svg();
    if (!svg) return tell("There is no picture yet");
    try {
      save(`diagram.${form}`, form === "svg" ? svg : await this.paper.png());
    } catch (error) {
      tell(error.message);
    }
  }

  close() {
    clearTimeout(this.timer);
    removeEventListener("beforeunload", this.onUnload);
    this.turn++;
    this.engine?.close();
    this.editor.close();
    this.paper.close();
  }
}
