// Checks a value against a JSON Schema (2020-12), so that a form can tell what is wrong before anything is sent.
// A keyword that is not known here lets every value pass: the server has the last word.

import { ExactNumber, compareNumbers, isNumber, isWhole, plain, scaled } from "./exact_json.js";
import { words } from "./schema_words.js";

const MAX_ERRORS = 50;
const MAX_DEPTH = 200;

/** Return where a value breaks a schema: [{path, keyword, message}], the name of an absent member being its path. */
export function check(schema, value, root = schema) {
  return errorsIn(schema, value, [], { root, depth: 0 }).slice(0, MAX_ERRORS);
}

/** Return what a reference within a schema leads to; undefined where it leads elsewhere. */
export function find(root, reference) {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  const steps = reference.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const has = (part, step) => typeof part === "object" && part !== null && Object.hasOwn(part, step);
  return steps.reduce((part, step) => (has(part, step) ? part[step] : undefined), root);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Return the type of a value as JSON Schema calls it; a whole number is an integer. */
export function typeOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isNumber(value)) return isWhole(value) ? "integer" : "number";
  return typeof value;
}

/** Tell whether two JSON values are equal. */
export function equal(one, other) {
  return one === other || (typeof one === "object" && canonical(one) === canonical(other));
}

function errorsIn(schema, value, path, state) {
  if (schema === false) return fail(path, "false", words.nothing);
  if (!isObject(schema) || state.depth > MAX_DEPTH) return [];
  const inner = { ...state, depth: state.depth + 1 };
  const found = [];
  for (const keyword of Object.keys(schema)) {
    if (!Object.hasOwn(KEYWORDS, keyword)) continue;
    for (const error of KEYWORDS[keyword](schema[keyword], value, path, inner, schema)) found.push(error);
    if (found.length > MAX_ERRORS) break;
  }
  // What has another type breaks every other rule as well: one message is enough.
  const type = found.find((error) => error.keyword === "type" && error.path.length === path.length);
  return type ? [type] : found;
}

const passes = (schema, value, state) => errorsIn(schema, value, [], state).length === 0;

/** A keyword for values of one type: `isBroken` tells whether a value breaks it. */
const rule = (isMeant, isBroken) => (wanted, value, path, state, schema, keyword) =>
  isMeant(value) && isBroken(value, wanted) ? fail(path, keyword, words[keyword](wanted, value, schema)) : [];

const isText = (value) => typeof value === "string";
const size = (text) => [...text].length;

const RULES = {
  type: rule(() => true, (value, wanted) => ![wanted].flat().some((type) => isOfType(value, type))),
  enum: rule(() => true, (value, wanted) => !wanted.some((one) => equal(one, value))),
  const: rule(() => true, (value, wanted) => !equal(wanted, value)),
  minimum: rule(isNumber, (value, wanted) => compareNumbers(value, wanted) < 0),
  maximum: rule(isNumber, (value, wanted) => compareNumbers(value, wanted) > 0),
  exclusiveMinimum: rule(isNumber, (value, wanted) => compareNumbers(value, wanted) <= 0),
  exclusiveMaximum: rule(isNumber, (value, wanted) => compareNumbers(value, wanted) >= 0),
  multipleOf: rule(isNumber, (value, wanted) => !isMultiple(value, wanted)),
  minLength: rule(isText, (value, wanted) => size(value) < wanted),
  maxLength: rule(isText, (value, wanted) => size(value) > wanted),
  pattern: rule(isText, (value, wanted) => !matches(wanted, value)),
  minItems: rule(Array.isArray, (value, wanted) => value.length < wanted),
  maxItems: rule(Array.isArray, (value, wanted) => value.length > wanted),
  uniqueItems: rule(Array.isArray, (value, wanted) => wanted && new Set(value.map(canonical)).size < value.length),
  minProperties: rule(isObject, (value, wanted) => Object.keys(value).length < wanted),
  maxProperties: rule(isObject, (value, wanted) => Object.keys(value).length > wanted),
};

const KEYWORDS = {
  ...Object.fromEntries(Object.entries(RULES).map(([name, run]) => [name, (...given) => run(...given, name)])),
  $ref: (reference, value, path, state) => errorsIn(find(state.root, reference) ?? true, value, path, state),
  required: (wanted, value, path) => absent(wanted, value, path, "required", words.required),
  dependentRequired: (rules, value, path) => given(rules, value).flatMap(([name, wanted]) =>
    absent(wanted, value, path, "dependentRequired", words.dependentRequired(name))),
  dependentSchemas: (rules, value, path, state) => given(rules, value).flatMap(([, schema]) =>
    errorsIn(schema, value, path, state)),
  properties: (members, value, path, state) => given(members, value).flatMap(([name, schema]) =>
    errorsIn(schema, value[name], [...path, name], state)),
  patternProperties: (members, value, path, state) => Object.entries(members).flatMap(([pattern, schema]) =>
    names(value).filter((name) => matches(pattern, name))
      .flatMap((name) => errorsIn(schema, value[name], [...path, name], state))),
  additionalProperties: furtherErrors,
  propertyNames: (schema, value, path, state) => names(value).flatMap((name) =>
    errorsIn(schema, name, [], state).slice(0, 1)
      .flatMap(({ message }) => fail([...path, name], "propertyNames", words.propertyNames(message)))),
  prefixItems: (schemas, value, path, state) => items(value).slice(0, schemas.length).flatMap((item, index) =>
    errorsIn(schemas[index], item, [...path, index], state)),
  items: itemErrors,
  contains: containsErrors,
  allOf: (branches, value, path, state) => branches.flatMap((branch) => errorsIn(branch, value, path, state)),
  anyOf: (branches, value, path, state) => closest(tryAll(branches, value, path, state), branches, path),
  oneOf: oneOfErrors,
  not: (schema, value, path, state) => (passes(schema, value, state) ? fail(path, "not", words.not(schema)) : []),
  if: (condition, value, path, state, whole) =>
    errorsIn((passes(condition, value, state) ? whole.then : whole.else) ?? true, value, path, state),
};

const fail = (path, keyword, message) => [{ path, keyword, message }];
const names = (value) => (isObject(value) ? Object.keys(value) : []);
const items = (value) => (Array.isArray(value) ? value : []);
const given = (rules, value) =>
  (isObject(value) ? Object.entries(rules).filter(([name]) => Object.hasOwn(value, name)) : []);
const tryAll = (branches, value, path, state) => branches.map((branch) => errorsIn(branch, value, path, state));

function isOfType(value, type) {
  const own = typeOf(value);
  return own === type || (own === "integer" && type === "number");
}

function isKnown(schema, name) {
  return Object.hasOwn(schema.properties ?? {}, name)
    || Object.keys(schema.patternProperties ?? {}).some((pattern) => matches(pattern, name));
}

function absent(wanted, value, path, keyword, message) {
  const missing = isObject(value) ? wanted.filter((name) => !Object.hasOwn(value, name)) : [];
  return missing.flatMap((name) => fail([...path, name], keyword, message));
}

function furtherErrors(schema, value, path, state, whole) {
  const further = names(value).filter((name) => !isKnown(whole, name));
  if (schema === false) return further.flatMap((name) => fail([...path, name], "additionalProperties", words.unknown));
  return further.flatMap((name) => errorsIn(schema, value[name], [...path, name], state));
}

function itemErrors(schema, value, path, state, whole) {
  const first = whole.prefixItems?.length ?? 0;
  const further = items(value).slice(first);
  if (schema === false && further.length) return fail(path, "items", words.maxItems(first, value));
  return further.flatMap((item, index) => errorsIn(schema, item, [...path, first + index], state));
}

function containsErrors(schema, value, path, state, whole) {
  if (!Array.isArray(value)) return [];
  const count = value.filter((item) => passes(schema, item, state)).length;
  const [least, most] = [whole.minContains ?? 1, whole.maxContains ?? Infinity];
  return count < least || count > most ? fail(path, "contains", words.contains(least, most)) : [];
}

function oneOfErrors(branches, value, path, state) {
  const tried = tryAll(branches, value, path, state);
  const fitting = tried.filter((errors) => errors.length === 0).length;
  return fitting > 1 ? fail(path, "oneOf", words.oneOf(fitting)) : closest(tried, branches, path);
}

/** Return nothing where a branch fits, else the errors of the branch that the value comes closest to. */
function closest(tried, branches, path) {
  if (tried.some((errors) => errors.length === 0)) return [];
  const isOther = ({ path: at, keyword }) => at.length === path.length && ["type", "const"].includes(keyword);
  const typed = tried.filter((errors) => !errors.some(isOther)).sort((one, other) => one.length - other.length);
  if (typed.length) return typed[0];
  const others = branches.filter((branch) => branch?.type !== "null");
  if (others.length === 1) return tried[branches.indexOf(others[0])];
  const choices = others.filter((branch) => branch?.const !== undefined).map((branch) => branch.const);
  if (choices.length === others.length) return fail(path, "enum", words.enum(choices));
  return fail(path, "anyOf", words.anyOf(others));
}

const patterns = new Map();

/** Tell whether a text matches a pattern; one that this browser cannot read matches everything. */
function matches(pattern, text) {
  if (!patterns.has(pattern)) patterns.set(pattern, compile(pattern));
  return patterns.get(pattern)?.test(text) ?? true;
}

function compile(pattern) {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      continue;
    }
  }
  return null;
}

/** Tell whether a number is a multiple of another, both as they are written. */
function isMultiple(value, of) {
  const [one, other] = scaled(value, of) ?? [0n, 1n];
  return one % other === 0n;
}

/** Return a value as text that is equal for equal values. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (isNumber(value)) return plain(value);
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}
