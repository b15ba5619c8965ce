// The fields of single values: texts, numbers, true or false, choices, and JSON where nothing else fits.

import { h, put, shown } from "./dom.js";
import { isHeld, isNumber, keepsNumbers, readJson, readNumber } from "./exact_json.js";
import { emptyBox, frame } from "./form_frame.js";
import { hasLines } from "./form_shape.js";
import { equal } from "./schema_check.js";

const RADIOS = 3;
const LEFT_OUT = "left out";

/** Tell whether a value need not be sent: the server takes it anyway. */
const isDefault = (at, schema, value) => !at.required && schema.default !== undefined && equal(schema.default, value);

export function textField(at, shape) {
  const { schema } = shape;
  const initial = typeof schema.default === "string" ? schema.default : "";
  const make = (isLong) => isLong
    ? h("textarea", { id: at.id, rows: 6, spellcheck: "false", disabled: at.readOnly, class: "mono" })
    : h("input", { id: at.id, type: "text", autocomplete: "off", spellcheck: "false", disabled: at.readOnly });
  let input = make(hasLines(schema, at.example));
  input.value = initial;
  const control = {
    get element() { return input; },
    get target() { return input; },
    disable: (is) => {
      input.disabled = is || at.readOnly;
      empty?.disable(is);
    },
    read: () => {
      if (isDefault(at, schema, input.value)) return undefined;
      return input.value === "" && !initial && !at.isItem && !empty?.isChosen() ? undefined : input.value;
    },
    write: (value) => {
      const text = value === undefined ? initial : String(value);
      if (text.includes("\n") && input.tagName === "INPUT") input = swap(input, make(true));
      input.value = text;
      empty?.choose(value === "");
      empty?.offer(text === "");
    },
  };
  const empty = initial || at.isItem || schema.default === "" ? null : emptyBox(at, schema, "");
  control.extra = empty?.element;
  const field = frame(at, shape, control);
  field.element.addEventListener("input", () => empty?.offer(input.value === ""));
  return field;
}

function swap(old, fresh) {
  for (const { name, value } of old.attributes) if (name.startsWith("aria-")) fresh.setAttribute(name, value);
  old.replaceWith(fresh);
  return fresh;
}

export function numberField(at, shape) {
  const { schema } = shape;
  const isWhole = schema.type === "integer";
  const initial = isNumber(schema.default) ? String(schema.default) : "";
  const input = h("input", {
    id: at.id, type: "number", disabled: at.readOnly,
    step: schema.multipleOf ?? (isWhole ? 1 : "any"), inputmode: isWhole ? "numeric" : "decimal",
    min: schema.minimum ?? schema.exclusiveMinimum, max: schema.maximum ?? schema.exclusiveMaximum,
  });
  const fill = (text) => {
    input.type = "number";
    input.value = text;
    // A field for numbers holds what a double can; the others are a text, and its check is here.
    if (input.value !== text) Object.assign(input, { type: "text", value: text });
  };
  fill(initial);
  const noun = isWhole ? "a whole number" : "a number";
  return frame(at, shape, {
    element: input,
    target: input,
    disable: (is) => (input.disabled = is || at.readOnly),
    read: () => {
      const value = readNumber(input.value);
      return value === undefined || isDefault(at, schema, value) ? undefined : value;
    },
    write: (value) => fill(value === undefined ? initial : String(value)),
    problems: (path) => {
      const isOther = input.validity.badInput || (input.value !== "" && readNumber(input.value) === undefined);
      if (isOther) return [{ path, message: `Write ${noun}, such as ${schema.minimum ?? 5}.` }];
      if (input.value === "" && at.isItem) return [{ path, message: `Write ${noun}.` }];
      if (input.value !== "" && !keepsNumbers && !isHeld(input.value)) {
        return [{ path, message: "This browser cannot send this number exactly. Call the tool from a program." }];
      }
      return [];
    },
  });
}

export function booleanField(at, shape) {
  const { schema } = shape;
  if (typeof schema.default !== "boolean" && !at.required) {
    return choiceField(at, { ...shape, choices: [{ value: true, meaning: "" }, { value: false, meaning: "" }] });
  }
  const input = h("input", { id: at.id, type: "checkbox", disabled: at.readOnly });
  input.checked = schema.default === true;
  return frame(at, shape, {
    element: input,
    target: input,
    isInline: true,
    disable: (is) => (input.disabled = is || at.readOnly),
    read: () => (isDefault(at, schema, input.checked) ? undefined : input.checked),
    write: (value) => (input.checked = value === undefined ? schema.default === true : value === true),
  });
}

export function fixedField(at, shape) {
  const { value } = shape.choices[0];
  if (!at.required) return choiceField(at, shape);
  const output = h("output", { id: at.id, class: "mono" });
  const mend = h("button", { type: "button", class: "quiet", disabled: at.readOnly }, "Use ", shown(written(value)));
  let current = value;
  const write = (given) => {
    // Another value than the fixed one is shown as it is, and the check decides.
    current = given === undefined ? value : given;
    put(output, shown(written(current)));
    mend.hidden = equal(current, value);
  };
  mend.addEventListener("click", () => {
    write(undefined);
    mend.dispatchEvent(new Event("change", { bubbles: true }));
  });
  write(undefined);
  const element = h("div", { class: "row" }, output, mend);
  return frame(at, shape, { element, target: output, disable: () => {}, read: () => current, write });
}

export function choiceField(at, shape) {
  const meanings = at.contract?.choices ?? [];
  const choices = shape.choices.map(({ value, meaning }) =>
    ({ value, meaning: meaning || meanings.find((one) => equal(one.value, value))?.meaning || "" }));
  const { default: usual } = shape.schema;
  const initial = choices.findIndex((choice) => usual !== undefined && equal(choice.value, usual));
  const isOpen = !at.required && initial < 0;
  const make = choices.length + (isOpen ? 1 : 0) <= RADIOS ? radios : select;
  const control = make(at, choices, initial, isOpen);
  return frame(at, shape, {
    ...control,
    read: () => {
      const value = choices[control.chosen()]?.value;
      return value === undefined || isDefault(at, shape.schema, value) ? undefined : value;
    },
    write: (value) => {
      let index = value === undefined ? initial : choices.findIndex((choice) => equal(choice.value, value));
      if (value !== undefined && index < 0) {
        // Another case of a word, or a value that is not allowed: it is shown, and the check decides.
        index = choices.push({ value, meaning: "" }) - 1;
        control.add(choices[index], index);
      }
      control.choose(index);
    },
  });
}

function select(at, choices, initial, isOpen) {
  const option = ({ value, meaning }, index) =>
    h("option", { value: String(index) }, meaning ? `${written(value)} – ${meaning}` : written(value));
  const none = initial < 0 ? h("option", { value: "-1" }, isOpen ? LEFT_OUT : "choose") : null;
  const element = h("select", { id: at.id, disabled: at.readOnly }, none, choices.map(option));
  element.value = String(initial);
  return {
    element,
    target: element,
    disable: (is) => (element.disabled = is || at.readOnly),
    chosen: () => Number(element.value),
    choose: (index) => (element.value = String(index)),
    add: (choice, index) => element.append(option(choice, index)),
  };
}

function radios(at, choices, initial, isOpen) {
  const radio = (label, meaning, index) => {
    const id = `${at.id}-${index}`;
    const input = h("input", { type: "radio", id, name: at.id, value: String(index), disabled: at.readOnly });
    input.checked = index === initial;
    return h("span", { class: "choice" },
      input, " ", h("label", { for: id }, shown(label)), meaning && h("span", { class: "help" }, ` ${meaning}`));
  };
  const one = ({ value, meaning }, index) => radio(written(value), meaning, index);
  const named = at.labelledBy ?? `${at.id}-name`;
  const element = h("div", { role: "radiogroup", id: at.id, class: "choices", "aria-labelledby": named },
    isOpen && radio(LEFT_OUT, "", -1), choices.map(one));
  const inputs = () => [...element.querySelectorAll("input")];
  return {
    element,
    target: element,
    isNamed: true,
    disable: (is) => inputs().forEach((input) => (input.disabled = is || at.readOnly)),
    chosen: () => Number(inputs().find((input) => input.checked)?.value ?? -1),
    choose: (index) => inputs().forEach((input) => (input.checked = Number(input.value) === index)),
    add: (choice, index) => element.append(one(choice, index)),
  };
}

const written = (value) => (typeof value === "string" ? value || "an empty text" : JSON.stringify(value));

export function jsonField(at, shape) {
  const { schema } = shape;
  const initial = (schema.default ?? null) === null ? "" : JSON.stringify(schema.default, null, 2);
  const attributes = { id: at.id, rows: 4, class: "mono", spellcheck: "false", placeholder: "JSON" };
  const input = h("textarea", { ...attributes, disabled: at.readOnly });
  input.value = initial;
  return frame(at, shape, {
    element: input,
    target: input,
    holdsNull: true,
    disable: (is) => (input.disabled = is || at.readOnly),
    read: () => {
      const value = parsed(input.value).value;
      return value !== undefined && isDefault(at, schema, value) ? undefined : value;
    },
    write: (value) => (input.value = value === undefined ? initial : JSON.stringify(value, null, 2)),
    problems: (path) => {
      const { error } = parsed(input.value);
      return error && (input.value.trim() || at.isItem) ? [{ path, message: `Write JSON: ${error}` }] : [];
    },
  });
}

/** Return {value} of a JSON text, or {error}. */
export function parsed(text) {
  try {
    return { value: readJson(text) };
  } catch (error) {
    return { error: error.message };
  }
}
