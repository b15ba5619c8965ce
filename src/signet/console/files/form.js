// A form made from the schema of a tool's arguments. It tells what breaks the schema before anything is sent.

import { h, put, shown } from "./dom.js";
import { parsed } from "./form_fields.js";
import { makeField } from "./form_groups.js";
import { check, isObject } from "./schema_check.js";

/** Make a form: {element, value(), set(arguments), showPlaces(places)}.

    `contract` is the tree of the tool's page, for the words of the rules; `onSend` is called with arguments that keep
    the schema. */
export function schemaForm(schema, { contract, nullArguments = [], example, readOnly = false, onSend }) {
  const state = { isSent: false, touched: new WeakSet(), isJson: false, places: [] };
  const whole = makeField({ ...schema, description: undefined, examples: undefined }, {
    root: schema, id: "argument", path: [], name: "arguments", required: true, isWhole: true, takesNull: false,
    contract, nullArguments, example, readOnly, state,
  });
  const json = jsonEditor(readOnly);
  const summary = h("p", { class: "failure", role: "alert", hidden: true });
  const send = h("button", { type: "submit", disabled: readOnly }, "Call");
  const quiet = { type: "button", class: "quiet" };
  const toggle = h("button", { ...quiet, onclick: () => switchTo(!state.isJson) }, "Edit as JSON");
  const reset = h("button", { ...quiet, disabled: readOnly, onclick: () => set({}) }, "Reset");
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  const none = hasFields ? null : h("p", { class: "help" }, "This tool takes no arguments.");
  const element = h("form", { class: "call-form", novalidate: true, "aria-label": "Arguments" },
    none, whole.element, json.element, summary, h("div", { class: "row buttons" }, send, toggle, reset));
  if (!hasFields && schema.type === "object" && !schema.additionalProperties) whole.element.hidden = true;

  const value = () => (state.isJson ? parsed(json.input.value).value : whole.read() ?? {});

  function errors() {
    if (state.isJson) {
      const { value: given, error } = parsed(json.input.value);
      if (error) return [{ path: [], message: `Write JSON: ${error}` }];
      if (isObject(given)) return check(schema, given);
      return [{ path: [], message: "Write a JSON object: the names and values of the arguments." }];
    }
    const problems = whole.problems([]);
    const held = problems.map(({ path }) => JSON.stringify(path));
    const broken = check(schema, value()).filter(({ path }) => !held.includes(JSON.stringify(path)));
    return [...problems, ...broken];
  }

  function draw(found) {
    whole.clear();
    json.mark(state.isJson && state.isSent ? found : []);
    if (!state.isJson) for (const { path, message } of found) whole.mark(path, message);
    summary.hidden = !state.isSent || found.length === 0;
    const count = found.length === 1 ? "One thing has" : `${found.length} things have`;
    put(summary, `${count} to change before this can be sent.`);
  }

  function switchTo(isJson) {
    if (isJson) json.input.value = JSON.stringify(whole.read() ?? {}, null, 2);
    else {
      const given = value();
      if (!isObject(given)) return ((state.isSent = true), draw(errors()), json.input.focus());
      whole.write(given);
    }
    state.isJson = isJson;
    whole.element.hidden = isJson;
    json.element.hidden = !isJson;
    put(toggle, isJson ? "Back to the form" : "Edit as JSON");
    draw(state.isSent ? errors() : []);
  }

  function set(given) {
    state.isSent = false;
    state.touched = new WeakSet();
    whole.write(given);
    json.input.value = JSON.stringify(given, null, 2);
    draw([]);
  }

  function submit(event) {
    event.preventDefault();
    if (readOnly || send.getAttribute("aria-disabled") === "true") return;
    state.isSent = true;
    const found = errors();
    draw(found);
    if (found.length === 0) return onSend(value());
    focusFirst(element);
  }

  element.addEventListener("submit", submit);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  });
  element.addEventListener("input", () => {
    if (state.isSent) draw(errors());
  });
  element.addEventListener("change", (event) => {
    const field = event.target.closest(".field");
    if (field) state.touched.add(field);
    whenReleased(() => draw(errors()));
  });

  return { element, value, set, showPlaces: (places) => showPlaces(places, draw, element, state) };
}

let isPressed = false;
addEventListener("pointerdown", () => (isPressed = true), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (isPressed = false), true);

/** Do something at once, or after the click that is under way: an error that appears must not move its button away. */
function whenReleased(act) {
  if (!isPressed) return act();
  addEventListener("pointerup", () => setTimeout(act), { once: true });
}

/** Show what the server found wrong beside its field: its words count. */
function showPlaces(places, draw, element, state) {
  state.isSent = true;
  draw(places.map(({ path, keyword, message }) => {
    const name = keyword === "required" ? /^"(.+)" is a required property$/.exec(message)?.[1] : undefined;
    return { path: name === undefined ? path : [...path, name], message };
  }));
  if (places.length) focusFirst(element);
}

function focusFirst(element) {
  const marked = [...element.querySelectorAll("[aria-invalid=true], .group.wrong")];
  const wrong = marked.find((one) => one.offsetParent !== null);
  const inside = "input:not(:disabled), textarea, select, button:not(:disabled)";
  (wrong?.matches("input, textarea, select") ? wrong : wrong?.querySelector(inside))?.focus();
}

function jsonEditor(readOnly) {
  const attributes = { id: "arguments-json", rows: 12, class: "mono", spellcheck: "false", readonly: readOnly };
  const input = h("textarea", { ...attributes, "aria-describedby": "arguments-json-error" });
  const error = h("div", { class: "error", id: "arguments-json-error" });
  const label = h("label", { for: input.id }, "Arguments as JSON");
  const element = h("div", { class: "field", hidden: true }, label, input, error);
  const mark = (found) => {
    const lines = found.map(({ path, message }) => (path.length ? `${path.join(".")}: ${message}` : message));
    put(error, lines.map((line) => h("p", {}, shown(line))));
    found.length ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
  };
  return { element, input, mark };
}
