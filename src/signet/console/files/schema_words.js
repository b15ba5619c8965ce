// The words of a schema's rules: what to write in place of what was written.

const NOUNS = {
  string: "a text", integer: "a whole number", number: "a number", boolean: "true or false", array: "a list",
  object: "an object", null: "null",
};
const MAX_CHOICES = 12;
const MAX_CHARS = 60;

/** Return a value as JSON, cut where it is long. */
export function shortly(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** Return the type of a schema in words. */
export function kindOf(schema) {
  if (schema?.title) return schema.title;
  if (schema?.const !== undefined) return shortly(schema.const);
  const types = [schema?.type ?? []].flat();
  return types.map((type) => NOUNS[type] ?? type).join(" or ") || (schema?.properties ? "an object" : "another value");
}

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export const words = {
  nothing: "Nothing is allowed here. Leave it out.",
  unknown: "This name is not known here. Leave it out.",
  required: "This is required. Fill it in.",
  dependentRequired: (name) => `This is required where ${name} is given. Fill it in.`,
  type: (wanted) => `Write ${[wanted].flat().map((type) => NOUNS[type] ?? type).join(" or ")}.`,
  enum: (wanted) => {
    const some = wanted.slice(0, MAX_CHOICES).map(shortly);
    return `Choose one of: ${some.join(", ")}${wanted.length > MAX_CHOICES ? ", …" : ""}.`;
  },
  const: (wanted) => `Write ${shortly(wanted)}: nothing else is allowed.`,
  minimum: (wanted, value) => `Write a number of at least ${wanted}; ${value} is too small.`,
  maximum: (wanted, value) => `Write a number of at most ${wanted}; ${value} is too large.`,
  exclusiveMinimum: (wanted, value) => `Write a number above ${wanted}; ${value} is too small.`,
  exclusiveMaximum: (wanted, value) => `Write a number below ${wanted}; ${value} is too large.`,
  multipleOf: (wanted) => `Write a multiple of ${wanted}.`,
  minLength: (wanted, value) => `Write at least ${counted(wanted, "character")}; this has ${[...value].length}.`,
  maxLength: (wanted, value) => `Write at most ${counted(wanted, "character")}; this has ${[...value].length}.`,
  pattern: (wanted, value, schema) => {
    const example = [schema.examples ?? []].flat(2).find((one) => typeof one === "string");
    if (wanted === "\\S") return "Write something other than spaces.";
    const such = example ? `, such as ${shortly(example)}` : "";
    return `This does not have the asked form${such}. It must match ${wanted}`;
  },
  minItems: (wanted, value) => `Give at least ${counted(wanted, "item")}; this has ${value.length}.`,
  maxItems: (wanted, value) => `Give at most ${counted(wanted, "item")}; this has ${value.length}.`,
  uniqueItems: () => "Two items are equal. Change or remove one.",
  minProperties: (wanted) => `Give at least ${counted(wanted, "member")}.`,
  maxProperties: (wanted) => `Give at most ${counted(wanted, "member")}.`,
  propertyNames: (why) => `This name is not allowed. ${why}`,
  contains: (least, most) => {
    const count = most === Infinity ? `at least ${counted(least, "item")}` : `${least} to ${counted(most, "item")}`;
    return `Of the form that the contract asks for, ${count} must be there.`;
  },
  anyOf: (branches) => `Write ${[...new Set(branches.map(kindOf))].join(" or ")}.`,
  oneOf: (count) => `This fits ${count} of the allowed forms. It must fit exactly one.`,
  not: (schema) =>
    (schema?.pattern === "\\n" ? "Line breaks are not allowed here." : `This is not allowed: ${shortly(schema)}`),
};
