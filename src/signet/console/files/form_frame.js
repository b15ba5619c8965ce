// What every field of a form has around its control: name, whether it is required, help, null, and its error.

import { h, put, shown } from "./dom.js";
import { check } from "./schema_check.js";
import { shortly } from "./schema_words.js";

const LONG_RULE = 60;

/** Put a control into its frame. The control has read and write, and may have child, problems, clear and isGroup.

    A field has: element, read() (undefined: not sent), write(value), mark(path, message), clear(), problems(path). */
export function frame(at, shape, control) {
  const error = h("p", { class: "error", id: `${at.id}-error`, hidden: true });
  const isNull = nullBox(at, shape, control);
  const element = (control.isGroup ? group : single)(at, shape, control, isNull, error);
  const field = {
    element,
    read: () => (isNull?.input.checked ? null : control.read()),
    write: (value) => {
      isNull?.set(value === null);
      control.write(value === null && (isNull || !control.holdsNull) ? undefined : value);
    },
    mark: (path, message) => {
      const child = path.length ? control.child?.(path[0]) : null;
      if (child) return child.mark(path.slice(1), message);
      if (control.markInside?.(path, message)) return true;
      if (!at.state.isSent && !at.state.touched.has(element)) return true;
      error.append(error.hidden ? "" : " ", path.length ? `${path.join(".")}: ` : "", ...shown(message));
      error.hidden = false;
      element.classList.add("wrong");
      control.target?.setAttribute("aria-invalid", "true");
      return true;
    },
    clear: () => {
      put(error);
      error.hidden = true;
      element.classList.remove("wrong");
      control.target?.removeAttribute("aria-invalid");
      control.clear?.();
    },
    problems: (path) => (isNull?.input.checked ? [] : control.problems?.(path) ?? []),
  };
  return field;
}

function single(at, shape, control, isNull, error) {
  const help = helpOf(at, shape);
  const described = [help && `${at.id}-help`, error.id].filter(Boolean).join(" ");
  control.target.setAttribute("aria-describedby", described);
  if (at.labelledBy) control.target.setAttribute("aria-labelledby", at.labelledBy);
  if (at.required && control.target.tagName !== "OUTPUT") control.target.setAttribute("aria-required", "true");
  const name = at.labelledBy ? null : control.isNamed
    ? h("span", { class: "name", id: `${at.id}-name` }, shown(at.name))
    : h("label", { for: at.id, id: `${at.id}-name` }, shown(at.name));
  const head = [name, !at.labelledBy && need(at), control.extra, isNull?.element];
  const [before, after] = control.isInline ? [control.element, null] : [null, control.element];
  const row = (name || isNull || before) && h("div", { class: "row" }, before, head);
  return h("div", { class: "field" }, row, after, error, help);
}

function group(at, shape, control, isNull, error) {
  const help = helpOf(at, shape);
  const described = [help && `${at.id}-help`, error.id].filter(Boolean).join(" ");
  if (at.isWhole) return h("div", { class: "whole", "aria-describedby": described }, control.element, error);
  const name = h("span", { class: "name", id: `${at.id}-name` }, shown(at.name));
  const legend = at.labelledBy ? null : h("legend", {}, name, " ", need(at));
  const by = at.labelledBy ?? null;
  const attributes = { class: "field group", "aria-describedby": described, "aria-labelledby": by };
  return h("fieldset", attributes, legend, isNull?.element, help, error, control.element);
}

function need(at) {
  if (at.isItem) return null;
  return h("span", { class: at.required ? "need must" : "need" }, at.required ? "required" : "optional");
}

/** The box that says null in place of a value; what was typed stays and is used again once the box is empty. */
function nullBox(at, shape, control) {
  // Where null is the default, to leave the field out says the same.
  if (!shape.nullable || !at.takesNull || (!at.required && shape.schema.default === null)) return null;
  const attributes = { type: "checkbox", id: `${at.id}-null`, "aria-describedby": `${at.id}-name` };
  const input = h("input", { ...attributes, disabled: at.readOnly });
  const set = (checked) => {
    input.checked = checked;
    control.disable(checked);
  };
  input.addEventListener("change", () => set(input.checked));
  return { input, set, element: h("span", { class: "null" }, input, " ", h("label", { for: input.id }, "null")) };
}

/** The box that sends an empty value, which is else left out; null where the contract does not take it.

    It is offered while the field is empty. */
export function emptyBox(at, schema, value) {
  if (check(schema, value, at.root).length) return null;
  const attributes = { type: "checkbox", id: `${at.id}-empty`, "aria-describedby": `${at.id}-name` };
  const input = h("input", { ...attributes, disabled: at.readOnly });
  const element = h("span", { class: "null" }, input, " ", h("label", { for: input.id }, "send it empty"));
  return {
    element,
    isChosen: () => input.checked,
    choose: (is) => (input.checked = is),
    offer: (is) => (element.hidden = !is),
    disable: (is) => (input.disabled = is || at.readOnly),
  };
}

/** Tell whether a rule is one for people: a pattern, and what is long, stands in the contract alone. */
function isPlain(rule) {
  const isPattern = /^(each item )?(matches|does not match) /.test(rule);
  return !isPattern && rule.length < LONG_RULE && rule !== "no further members";
}

function helpOf(at, shape) {
  const { schema } = shape;
  const rules = (at.contract?.rules ?? []).filter(isPlain);
  const facts = [...rules];
  if (schema.default !== undefined && schema.default !== null) {
    facts.push(`default: ${shortly(schema.default) || "an empty text"}`);
  }
  const examples = (schema.examples ?? []).slice(0, 3).map(shortly);
  if (examples.length) facts.push(`for example: ${examples.join(", ")}`);
  const description = at.isItem ? "" : schema.description ?? at.contract?.description ?? "";
  if (!description && !facts.length) return null;
  return h("div", { class: "help", id: `${at.id}-help` },
    description && h("p", {}, shown(description)),
    facts.length > 0 && h("p", { class: "facts" }, shown(facts.join(" · "))));
}
