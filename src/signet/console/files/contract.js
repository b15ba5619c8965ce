// A contract as people read it: its fields as a table, nested ones indented, and the raw JSON one click away.

import { codeBlock, h, shown } from "./dom.js";

const MAX_CHOICES = 40;

/** Return the part of a page that shows one contract; `field` is the tree that the server made of the schema. */
export function contractPart(title, field, schema) {
  const rows = rowsOf(field, 0);
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
    h("table", { class: "contract" },
      h("thead", {}, h("tr", {}, ["Name", "Type", "Meaning and rules"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows)));
  const text = JSON.stringify(schema, null, 2);
  const raw = h("details", {}, h("summary", {}, "Raw JSON"), codeBlock(text, `${title}, as JSON Schema`));
  return h("section", { class: "contract-part" }, h("h3", {}, title), ruleLine(field),
    rows.length ? table : h("p", { class: "help" }, field.type === "object" ? "No named fields." : field.type),
    raw);
}

function ruleLine(field) {
  const rules = field.rules.filter((rule) => rule !== "no further members");
  return rules.length > 0 && h("p", { class: "help" }, shown(rules.join(" · ")));
}

function rowsOf(field, depth) {
  const variants = field.variants.flatMap((variant, index) => {
    const name = `form ${index + 1}${variant.name ? `: ${variant.name}` : ""}`;
    return [row({ ...variant, name, required: null }, depth), ...rowsOf(variant, depth + 1)];
  });
  return [...field.fields.flatMap((one) => [row(one, depth), ...rowsOf(one, depth + 1)]), ...variants];
}

function row(field, depth) {
  const isPlace = field.required === null || (!field.required && /^(each item|any other name)$/.test(field.name));
  const name = isPlace ? h("em", {}, shown(field.name)) : h("code", {}, shown(field.name));
  const word = field.required ? "required" : "optional";
  const need = isPlace ? null : h("span", { class: field.required ? "need must" : "need" }, word);
  const cell = h("th", { scope: "row", class: `depth-${Math.min(depth, 6)}` }, name, " ", need);
  return h("tr", {}, cell, h("td", {}, field.type, field.nullable && ", or null"), h("td", {}, meaning(field)));
}

function meaning(field) {
  return [
    field.description && h("p", {}, shown(field.description)),
    facts(field),
    field.choices.length > 0 && choices(field.choices),
    patterns(field),
  ];
}

const isPattern = (rule) => /(^|^each item )matches /.test(rule);

function facts(field) {
  const found = field.rules.filter((rule) => !isPattern(rule));
  if (field.hasDefault && field.default !== null) found.push(`default: ${JSON.stringify(field.default)}`);
  const examples = field.examples.slice(0, 4).map((one) => JSON.stringify(one));
  if (examples.length) found.push(`for example: ${examples.join(", ")}`);
  return found.length > 0 && h("p", { class: "help" }, shown(found.join(" · ")));
}

function patterns(field) {
  return field.rules.filter(isPattern).map((rule) => {
    const at = rule.indexOf("matches ") + "matches ".length;
    return h("p", { class: "help" }, rule.slice(0, at), h("code", { class: "pattern" }, shown(rule.slice(at))));
  });
}

function choices(given) {
  const some = given.slice(0, MAX_CHOICES);
  if (some.some((choice) => choice.meaning)) {
    const told = some.filter((choice) => choice.meaning);
    const others = some.filter((choice) => !choice.meaning);
    return [
      h("ul", { class: "choices-told" }, told.map(({ value, meaning: words }) =>
        h("li", {}, h("code", {}, shown(written(value))), " ", shown(words)))),
      others.length > 0 && h("p", { class: "help" }, "also ", listed(others)),
    ];
  }
  const rest = given.length - some.length;
  return h("p", {}, given.length === 1 ? "always " : "one of ", listed(some), rest > 0 && ` and ${rest} more`);
}

function listed(some) {
  return some.flatMap(({ value }, index) => [index > 0 ? ", " : "", h("code", {}, shown(written(value)))]);
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));
