// Reads JSON without a loss: a number that a double cannot hold, such as 9007199254740993, stays as it was written.
// JSON.stringify writes such a number as it came.

const LONG = /\d[\d.]{15}|[eE][+-]?\d{3}/;
const LONG_NUMBERS = /-?\d[\d.]{15}[\d.eE+-]*|-?[\d.]+[eE][+-]?\d{3,}/g;
const NUMBER = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const MAX_POWER = 5_000;

/** Whether this browser can keep such numbers; without it they are refused where they are typed. */
export const keepsNumbers = typeof JSON.rawJSON === "function";

/** A number that a double would change: its text is its value. */
export class ExactNumber {
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }

  toJSON() {
    return keepsNumbers ? JSON.rawJSON(this.text) : Number(this.text);
  }

  toString() {
    return this.text;
  }

  valueOf() {
    return Number(this.text);
  }
}

/** Return the value of a JSON text; throw a SyntaxError where it is none. */
export function readJson(text) {
  const value = JSON.parse(text);
  if (!keepsNumbers || !LONG.test(text)) return value;
  // Numbers that a double would change are read as texts with a mark that no text can know.
  const mark = `${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`;
  const marked = withMarks(text, mark);
  return marked === null ? value : unmarked(JSON.parse(marked), mark);
}

/** Return a JSON text with marked texts in the place of numbers that a double changes; null where it has none. */
function withMarks(text, mark) {
  const pieces = [];
  let copied = 0;
  for (let at = 0; at < text.length;) {
    const open = text.indexOf('"', at);
    const end = open < 0 ? text.length : open;
    const between = text.slice(at, end);
    for (const found of LONG.test(between) ? between.matchAll(LONG_NUMBERS) : []) {
      if (isHeld(found[0])) continue;
      pieces.push(text.slice(copied, at + found.index), `"${mark}${found[0]}"`);
      copied = at + found.index + found[0].length;
    }
    at = open < 0 ? end : endOfText(text, open);
  }
  return pieces.length ? pieces.join("") + text.slice(copied) : null;
}

/** Return where a text ends that is opened by a quotation mark. */
function endOfText(text, open) {
  for (let close = text.indexOf('"', open + 1); ; close = text.indexOf('"', close + 1)) {
    let from = close;
    while (text[from - 1] === "\\") from -= 1;
    if ((close - from) % 2 === 0) return close + 1;
  }
}

/** Return a value with exact numbers in the place of marked texts. */
function unmarked(value, mark) {
  const top = { value };
  const waiting = [top];
  while (waiting.length) {
    const holder = waiting.pop();
    for (const name of Array.isArray(holder) ? holder.keys() : Object.keys(holder)) {
      const one = holder[name];
      if (typeof one === "object" && one !== null) waiting.push(one);
      else if (typeof one === "string" && one.startsWith(mark)) {
        Object.defineProperty(holder, name, { value: new ExactNumber(one.slice(mark.length)) });
      }
    }
  }
  return top.value;
}

/** Return the number that a person wrote, such as 5, .5 or 007; undefined where it is none. */
export function readNumber(text) {
  const written = text.trim();
  if (!/\d/.test(written) || !NUMBER.test(written)) return undefined;
  if (isHeld(written) || !keepsNumbers) return Number(written);
  const [, sign, whole, part, power] = NUMBER.exec(written);
  const digits = whole.replace(/^0+(?=\d)/, "") || "0";
  return new ExactNumber(`${sign}${digits}${part ? `.${part}` : ""}${power ? `e${power}` : ""}`);
}

/** Tell whether a double is exactly the number that a text writes. */
export function isHeld(text) {
  const number = Number(text);
  return String(number) === text || (Number.isFinite(number) && plain(text) === plain(number));
}

export function isNumber(value) {
  return typeof value === "number" || value instanceof ExactNumber;
}

/** Tell whether a number is whole, however it is written. */
export function isWhole(value) {
  if (typeof value === "number") return Number.isInteger(value);
  const parts = partsOf(value.text);
  return parts !== null && parts.power >= 0;
}

/** Return a number as text that is the same for equal numbers. */
export function plain(number) {
  const parts = partsOf(String(number));
  if (parts === null) return String(number);
  return parts.digits === "" ? "0" : `${parts.sign}${parts.digits}e${parts.power}`;
}

/** Return {sign, digits, power} of a number's text, without zeros at either end; null where it is none. */
function partsOf(text) {
  const found = NUMBER.exec(text);
  if (!found) return null;
  const [, sign, whole, part = "", power = "0"] = found;
  const digits = whole + part;
  let [from, to] = [0, digits.length];
  while (from < to && digits[from] === "0") from += 1;
  while (to > from && digits[to - 1] === "0") to -= 1;
  return { sign, digits: digits.slice(from, to), power: Number(power) - part.length + digits.length - to };
}

/** Return two numbers as whole ones of the same scale; null where that would be too long. */
export function scaled(one, other) {
  const both = [one, other].map((number) => partsOf(String(number)));
  if (both.some((parts) => parts === null || Math.abs(parts.power) > MAX_POWER)) return null;
  const least = Math.min(...both.map((parts) => parts.power));
  return both.map(({ sign, digits, power }) => BigInt(`${sign}${digits || "0"}`) * 10n ** BigInt(power - least));
}

/** Return less than, equal to or more than 0, as one number is less than, equal to or more than another. */
export function compareNumbers(one, other) {
  const areHeld = typeof one === "number" && typeof other === "number";
  const [left, right] = (areHeld ? null : scaled(one, other)) ?? [Number(one), Number(other)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Return a value with doubles in the place of exact numbers, for what draws: a point is not finer than that. */
export function asDoubles(value) {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(asDoubles);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asDoubles(one)]));
}
