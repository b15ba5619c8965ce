// The shape of a schema's form: references followed, null set apart, and which kind of field it takes.

import { find, isObject } from "./schema_check.js";

const MAX_STEPS = 20;
const LINES_FROM = 500;

/** Return {schema, nullable, kind, choices, variants} of a schema. */
export function shapeOf(given, root) {
  const { schema, nullable } = withoutNull(resolved(given, root), root);
  const choices = choicesOf(schema, root);
  const variants = choices ? [] : variantsOf(schema);
  return { schema, nullable, choices, variants, kind: kindOf(schema, choices, variants) };
}

/** Return a schema with what it refers to, and with its `allOf`, as one object. */
export function resolved(given, root) {
  let schema = isObject(given) ? given : {};
  for (let step = 0; typeof schema.$ref === "string" && step < MAX_STEPS; step++) {
    const { $ref, ...own } = schema;
    const target = find(root, $ref);
    if (!isObject(target)) return own;
    schema = { ...target, ...own };
  }
  return Array.isArray(schema.allOf) ? merged(schema, root) : schema;
}

function merged({ allOf, ...schema }, root) {
  return allOf.map((part) => resolved(part, root)).reduce((whole, part) => {
    const required = [...new Set([...(whole.required ?? []), ...(part.required ?? [])])];
    const properties = { ...part.properties, ...whole.properties };
    return { ...part, ...whole, required, properties };
  }, schema);
}

function withoutNull(schema, root) {
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const rest = schema.type.filter((type) => type !== "null");
    const values = schema.enum ? { enum: schema.enum.filter((value) => value !== null) } : {};
    return { schema: { ...schema, ...values, type: rest.length === 1 ? rest[0] : rest }, nullable: true };
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = schema[keyword];
    const others = Array.isArray(branches) ? branches.filter((branch) => branch?.type !== "null") : [];
    if (!Array.isArray(branches) || others.length === branches.length) continue;
    const { [keyword]: _, ...outer } = schema;
    const rest = others.length === 1 ? { ...resolved(others[0], root), ...outer } : { ...outer, [keyword]: others };
    return { schema: rest, nullable: true };
  }
  return { schema, nullable: false };
}

/** Return the values of which a field has one: [{value, meaning}], or null. */
function choicesOf(schema, root) {
  const branches = (schema.oneOf ?? schema.anyOf)?.map((branch) => resolved(branch, root));
  if (branches?.length && branches.every((branch) => branch.const !== undefined)) {
    return branches.map((branch) => ({ value: branch.const, meaning: branch.description ?? branch.title ?? "" }));
  }
  if (schema.const !== undefined) return [{ value: schema.const, meaning: "" }];
  if (!Array.isArray(schema.enum)) return null;
  return folded(schema.enum).map((value) => ({ value, meaning: "" }));
}

/** Return values without the other cases of a word where a contract lists each word in every case.

    Only then does case not count: `json JSON Json csv CSV Csv` says so, and `m M` are two values. */
function folded(values) {
  const all = new Set(values);
  const cases = (word) => [word.toLowerCase(), word.toUpperCase(), word[0].toUpperCase() + word.slice(1).toLowerCase()];
  const isWord = (value) => typeof value === "string" && /^[A-Za-z]+$/.test(value);
  if (!values.every((value) => isWord(value) && cases(value).every((one) => all.has(one)))) return values;
  if (values.every((value) => value.length === 1)) return values;
  const first = new Map();
  for (const value of values) if (!first.has(value.toLowerCase())) first.set(value.toLowerCase(), value);
  return [...first.values()];
}

function variantsOf(schema) {
  const branches = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(branches) && branches.length) {
    const { oneOf, anyOf, description, default: _, examples, ...outer } = schema;
    return branches.map((branch) => (isObject(branch) && branch.$ref === undefined ? { ...outer, ...branch } : branch));
  }
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [];
}

function kindOf(schema, choices, variants) {
  if (choices) return choices.length === 1 ? "fixed" : "choice";
  if (variants.length > 1) return "variants";
  if (schema.type === "object" || (!schema.type && schema.properties)) {
    return Object.keys(schema.properties ?? {}).length ? "object" : "json";
  }
  if (schema.type === "array") return schema.items === undefined && !schema.prefixItems ? "json" : "array";
  return ["string", "integer", "number", "boolean"].includes(schema.type) ? schema.type : "json";
}

/** Tell whether a text is one of several lines: long ones are, unless they have a form or a short example. */
export function hasLines(schema, example) {
  const samples = [example, schema.default, ...(schema.examples ?? [])].filter((one) => typeof one === "string");
  if (samples.some((one) => one.includes("\n"))) return true;
  return (schema.maxLength ?? 0) >= LINES_FROM && schema.pattern === undefined && samples.length === 0;
}
