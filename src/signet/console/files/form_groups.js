// The fields that hold others: objects, lists, and a choice between several forms of one value.

import { h, put, tell } from "./dom.js";
import { booleanField, choiceField, fixedField, jsonField, numberField, textField } from "./form_fields.js";
import { emptyBox, frame } from "./form_frame.js";
import { resolved, shapeOf } from "./form_shape.js";
import { check, equal, isObject, typeOf } from "./schema_check.js";
import { kindOf } from "./schema_words.js";

const MAX_DEPTH = 8;
const MAX_ROWS = 500;

const FIELDS = {
  string: textField, integer: numberField, number: numberField, boolean: booleanField, choice: choiceField,
  fixed: fixedField, json: jsonField, object: objectField, array: listField, variants: variantsField,
};

/** Make the field of a schema. `at` says where it is: {root, id, path, name, required, contract, example, readOnly}. */
export function makeField(schema, at) {
  const shape = shapeOf(schema, at.root);
  const kind = at.path.length > MAX_DEPTH ? "json" : shape.kind;
  return FIELDS[kind](at, shape);
}

let count = 0;

/** Return where a part of a field is. Its id is a number alone: two names can be alike but for a sign. */
function inside(at, step, more) {
  count += 1;
  const usual = { takesNull: true, isWhole: false, isItem: false, labelledBy: undefined };
  return { ...at, ...usual, id: `field-${count}`, path: [...at.path, step], name: String(step), ...more };
}

function memberFields(at, schema) {
  return new Map(Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const required = (schema.required ?? []).includes(name);
    const takesNull = !at.isWhole || required || at.nullArguments.includes(name);
    const contract = at.contract?.fields.find((field) => field.name === name);
    const example = isObject(at.example) ? at.example[name] : undefined;
    return [name, makeField(part, inside(at, name, { required, takesNull, contract, example }))];
  }));
}

export function objectField(at, shape) {
  const { schema } = shape;
  let members = null;
  const place = h("div", { class: "members" });
  const more = furtherMembers(at, schema);
  const open = () => {
    if (members) return;
    members = memberFields(at, schema);
    put(place, [...members.values()].map((field) => field.element), more.element);
  };
  const asks = !at.required && !at.isWhole;
  const attributes = { type: "checkbox", id: `${at.id}-given`, "aria-describedby": `${at.id}-name` };
  const box = h("input", { ...attributes, disabled: at.readOnly });
  const give = (is) => {
    box.checked = is;
    place.hidden = !is;
    if (is) open();
  };
  box.addEventListener("change", () => give(box.checked));
  give(!asks);
  const isGiven = () => box.checked;
  return frame(at, shape, {
    element: h("div", {}, asks && h("p", { class: "row given" }, box, h("label", { for: box.id }, "give it")), place),
    isGroup: true,
    child: (name) => (isGiven() ? members.get(name) : null),
    disable: (is) => (place.hidden = is || !isGiven()),
    read: () => {
      if (!isGiven()) return undefined;
      const values = [...members].map(([name, field]) => [name, field.read()]);
      return { ...Object.fromEntries(values.filter(([, value]) => value !== undefined)), ...more.read() };
    },
    write: (value) => {
      give(!asks || isObject(value));
      if (!isGiven()) return;
      const given = isObject(value) ? value : isObject(schema.default) ? schema.default : {};
      for (const [name, field] of members) field.write(given[name]);
      more.write(Object.fromEntries(Object.entries(given).filter(([name]) => !members.has(name))));
    },
    problems: (path) => {
      if (!isGiven()) return [];
      return [...[...members].flatMap(([name, field]) => field.problems([...path, name])), ...more.problems(path)];
    },
    clear: () => members?.forEach((field) => field.clear()),
  });
}

/** A field for members that the schema does not name: there where it takes them, or where some were given. */
function furtherMembers(at, schema) {
  const { additionalProperties: further, patternProperties: named } = schema;
  const isFree = further === true || isObject(further) || named !== undefined;
  const where = { name: "further members", required: false, path: at.path, contract: null };
  const shape = { schema: { description: "Members beside these, as a JSON object" }, nullable: false };
  const field = jsonField(inside(at, "more", where), shape);
  field.element.hidden = !isFree;
  return {
    element: field.element,
    read: () => (isObject(field.read()) ? field.read() : {}),
    write: (value) => {
      const some = Object.keys(value).length > 0;
      field.write(some ? value : undefined);
      field.element.hidden = !isFree && !some;
    },
    problems: (path) => {
      const value = field.read();
      if (value === undefined || isObject(value)) return field.problems(path);
      return [{ path, message: "Write the further members as a JSON object." }];
    },
  };
}

export function listField(at, shape) {
  const { schema } = shape;
  const rows = [];
  const list = h("ol", { class: "rows" });
  const add = h("button", { type: "button", class: "quiet", disabled: at.readOnly }, "Add an item");
  add.addEventListener("click", () => addRow(undefined, true));
  const partOf = (index) => schema.prefixItems?.[index] ?? schema.items ?? true;
  const contract = at.contract?.fields.find((field) => field.name === "each item")
    ?? { fields: [], variants: [], ...at.contract, rules: [], choices: [], description: "" };

  function addRow(value, isTyped = false) {
    if (rows.length >= MAX_ROWS) return tell(`A form holds at most ${MAX_ROWS} items`);
    const index = rows.length;
    const example = Array.isArray(at.example) ? at.example[0] : undefined;
    const name = `${at.name} ${index + 1}`;
    const where = inside(at, index, { name, required: true, isItem: true, contract, example });
    const field = makeField(partOf(index), where);
    const row = { field };
    row.element = h("li", {}, field.element, !at.readOnly && rowButtons(row));
    rows.push(row);
    if (value !== undefined) field.write(value);
    draw();
    if (isTyped) row.element.querySelector("input, textarea, select")?.focus();
  }

  function rowButtons(row) {
    const button = (sign, act) => h("button", { type: "button", class: "quiet", onclick: act }, sign);
    row.up = button("↑", () => move(row, -1));
    row.down = button("↓", () => move(row, 1));
    row.away = button("×", () => remove(row));
    return h("span", { class: "row-buttons" }, row.up, row.down, row.away);
  }

  function move(row, by) {
    const from = rows.indexOf(row);
    rows.splice(from, 1);
    rows.splice(from + by, 0, row);
    draw();
    const button = by < 0 ? row.up : row.down;
    (button.disabled ? (by < 0 ? row.down : row.up) : button).focus();
    tell(`Now item ${rows.indexOf(row) + 1} of ${rows.length}`);
  }

  function remove(row) {
    const from = rows.indexOf(row);
    rows.splice(from, 1);
    draw();
    (rows[Math.min(from, rows.length - 1)]?.away ?? add).focus();
  }

  function name(button, words) {
    button.setAttribute("aria-label", words);
    button.title = words;
  }

  function draw() {
    rows.forEach((row, index) => {
      const number = index + 1;
      const label = row.element.querySelector("label, .name");
      if (label && row.field.element.contains(label)) put(label, `${at.name} ${number}`);
      if (!row.up) return;
      name(row.up, `Move item ${number} up`);
      name(row.down, `Move item ${number} down`);
      name(row.away, `Remove item ${number}`);
      row.up.disabled = index === 0 || schema.prefixItems !== undefined;
      row.down.disabled = index === rows.length - 1 || schema.prefixItems !== undefined;
    });
    put(list, rows.map((row) => row.element));
    list.hidden = rows.length === 0;
    empty?.offer(rows.length === 0);
  }

  const empty = at.required || Array.isArray(schema.default) ? null : emptyBox(at, schema, []);
  const least = at.required ? Math.min(schema.minItems ?? 0, MAX_ROWS) : 0;
  const initial = Array.isArray(schema.default) ? schema.default : Array(least).fill(undefined);
  const fill = (values) => {
    rows.length = 0;
    values.forEach((value) => addRow(value));
    draw();
  };
  fill(initial);
  return frame(at, shape, {
    element: h("div", {}, list, h("div", { class: "row" }, add, empty?.element)),
    isGroup: true,
    child: (index) => rows[index]?.field,
    disable: (is) => ((list.hidden = is), (add.hidden = is), empty?.offer(!is && rows.length === 0)),
    read: () => {
      const value = rows.map((row) => row.field.read() ?? null);
      if (value.length === 0 && empty?.isChosen()) return value;
      return !at.required && equal(schema.default ?? [], value) ? undefined : value;
    },
    write: (value) => {
      empty?.choose(Array.isArray(value) && value.length === 0);
      fill(Array.isArray(value) ? value : initial);
    },
    problems: (path) => rows.flatMap((row, index) => row.field.problems([...path, index])),
    clear: () => rows.forEach((row) => row.field.clear()),
  });
}

export function variantsField(at, shape) {
  const { schema, variants } = shape;
  const made = new Map();
  const attributes = { id: `${at.id}-form`, "aria-label": "Form of the value" };
  const select = h("select", { ...attributes, disabled: at.readOnly },
    !at.required && h("option", { value: "-1" }, "left out"),
    variants.map((variant, index) => h("option", { value: String(index) }, titleOf(variant, at.root))));
  const place = h("div", { class: "variant" });
  const field = (index) => {
    if (!made.has(index)) {
      const contract = at.contract?.variants?.[index];
      const where = { id: `${at.id}-v${index}`, labelledBy: at.labelledBy ?? `${at.id}-name`, contract };
      made.set(index, makeField(variants[index], { ...at, required: true, takesNull: true, isItem: true, ...where }));
    }
    return made.get(index);
  };
  const current = () => (select.value === "-1" ? null : field(Number(select.value)));
  const draw = () => put(place, current()?.element);
  const choose = (value) => {
    select.value = String(value === undefined ? (at.required ? 0 : -1) : variantOf(value, variants, at.root));
    draw();
    if (value !== undefined) current().write(value);
  };
  select.addEventListener("change", draw);
  const initial = schema.default ?? undefined;
  choose(initial);
  return frame(at, shape, {
    element: h("div", {}, select, place),
    isGroup: true,
    disable: (is) => ((select.disabled = is || at.readOnly), (place.hidden = is)),
    read: () => {
      const value = current()?.read();
      return !at.required && initial !== undefined && equal(initial, value) ? undefined : value;
    },
    write: (value) => choose(value ?? initial),
    problems: (path) => current()?.problems(path) ?? [],
    clear: () => made.forEach((one) => one.clear()),
    markInside: (path, message) => current()?.mark(path, message),
  });
}

/** Return the index of the variant that a value fits, or that has its type. */
function variantOf(value, variants, root) {
  const fitting = variants.findIndex((variant) => check(variant, value, root).length === 0);
  const isAlike = (variant) => [resolved(variant, root).type].flat().includes(typeOf(value));
  return fitting >= 0 ? fitting : Math.max(variants.findIndex(isAlike), 0);
}

/** Return what a variant is called: its title, the constant that marks it, or its type. */
function titleOf(variant, root) {
  const schema = resolved(variant, root);
  const mark = Object.entries(schema.properties ?? {}).find(([, part]) => resolved(part, root).const !== undefined);
  return schema.title ?? (mark ? `${mark[0]}: ${resolved(mark[1], root).const}` : kindOf(schema));
}
