// PlantUML's text encoding, in the page, so that a link can be made and read without asking anybody: raw deflate, then
// base64 in PlantUML's own alphabet.

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const VALUES = new Map(Array.from(ALPHABET, (char, value) => [char, value]));
const MAX_BYTES = 1 << 20;
const NOTHING = "there is no encoded diagram in it: a link ends with one, as in …/svg/SoWkIImgAStDuN9KK4ZEIImkHoq";
const NOT_ENCODED = "it is not an encoded diagram, or it is cut off: copy the whole link";

/** Return a text, encoded. */
export async function encode(text) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text), Infinity);
  const words = [];
  for (let at = 0; at < packed.length; at += 3) {
    const bits = (packed[at] << 16) | ((packed[at + 1] ?? 0) << 8) | (packed[at + 2] ?? 0);
    const word = [18, 12, 6, 0].map((shift) => ALPHABET[(bits >> shift) & 63]).join("");
    words.push(word.slice(0, Math.min(3, packed.length - at) + 1));
  }
  return words.join("");
}

/** Return the text of a link of any PlantUML server, or of the encoded part alone; throw an Error that says why not. */
export async function decode(given) {
  let encoded = encodedPart(given.trim());
  if (!encoded) throw new Error(NOTHING);
  if (encoded.startsWith("~h")) return textOf(fromHex(encoded.slice(2)));
  if (/^~[01]/.test(encoded)) encoded = encoded.slice(2);
  else if (encoded.startsWith("~")) {
    throw new Error(`${encoded.slice(0, 2)} marks an encoding that is not known here; ~1 (deflate) and ~h (hex) are`);
  }
  if (!/^[0-9A-Za-z_-]+$/.test(encoded)) {
    throw new Error("it has characters that PlantUML's encoding does not use: letters, digits, - and _ alone");
  }
  return textOf(await inflate(unmap(encoded)));
}

function encodedPart(given) {
  const parameter = /[?&](?:text|uml)=([^&#]+)/.exec(given);
  if (parameter) return unquote(parameter[1]);
  const path = given.replace(/^(?:[A-Za-z]+:)?\/\/[^/?#]*/, "").split(/[?#]/)[0].replace(/\/+$/, "");
  return unquote(path.slice(path.lastIndexOf("/") + 1)).replace(/\.(?:svg|png|txt|pdf|eps)$/i, "");
}

function unquote(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function fromHex(digits) {
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(digits)) {
    throw new Error("~h is followed by something that is not hexadecimal: two digits for each byte");
  }
  return Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
}

function unmap(encoded) {
  const bytes = [];
  for (let at = 0; at < encoded.length; at += 4) {
    const word = encoded.slice(at, at + 4);
    const bits = Array.from(word.padEnd(4, "0")).reduce((sum, char) => (sum << 6) | VALUES.get(char), 0);
    bytes.push(...[16, 8, 0].slice(0, word.length - 1).map((shift) => (bits >> shift) & 255));
  }
  return Uint8Array.from(bytes);
}

/** Return the inflated bytes: as PlantUML writes them, or with the header that some libraries add. */
async function inflate(packed) {
  for (const format of ["deflate-raw", "deflate"]) {
    // Up to two zeros at the end are there to fill the last four characters.
    for (let extra = 0; extra <= 2; extra++) {
      if (extra && packed[packed.length - extra] !== 0) break;
      try {
        return await through(new DecompressionStream(format), packed.subarray(0, packed.length - extra), MAX_BYTES);
      } catch (error) {
        if (error instanceof RangeError) throw error;
      }
    }
  }
  throw new Error(NOT_ENCODED);
}

/** Return what a stream makes of some bytes; throw RangeError where it is too much. */
async function through(stream, bytes, limit) {
  const writer = stream.writable.getWriter();
  // What goes wrong here is told by the reader too.
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  const pieces = [];
  const reader = stream.readable.getReader();
  for (let size = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    size += value.length;
    if (size > limit) {
      reader.cancel().catch(() => {});
      throw new RangeError(`its text is longer than ${limit} bytes, more than any diagram that can be drawn`);
    }
    pieces.push(value);
  }
}

function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("it decodes to bytes that are not UTF-8 text, so it is no diagram");
  }
}
