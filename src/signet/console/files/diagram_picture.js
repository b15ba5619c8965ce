// An SVG as the engine gives it: what it says against the diagram, its size, its margin and background. The same rules
// as in the server, so that both show the same picture; it runs in the worker.

const LIGHT = "#FFFFFF";
const DARK = "#1B1B1B";
const MARGIN = 6;
const MAX_CHARS = 4_194_304;
const ROOT = /<svg\b[^>]*>/;
const TEXT = /<text\b[^>]*>([^<]*)<\/text>/;
const TEXTS = /<text\b[^>]*>([^<]*)<\/text>/g;
const PLACE = /^\[From (?:string|textarea|[^\]]*?) ?\(line (\d+)\) ?\]$/;
const BACKGROUND = /background(?:-color)?:\s*(#[0-9A-Fa-f]{6})\b/;
const HEADS = ["PlantUML version ", "PlantUML ", "Welcome to PlantUML!"];
const ERROR_COLOUR = "#33FF02";
const BANNERS = /<rect\b[^>]*\bfill="#33FF02"[^>]*\/><text\b[^>]*>([^<]*)<\/text>/g;
const SHAPE = /<(?:rect|path|line|polygon|ellipse|image)\b/;
const EMBEDDED = /^@startuml[^\n]*\n(?:[ \t]*(?:'[^\n]*)?\n)*[ \t]*(?:salt|ditaa)\b/;
const LACKING = { message: "this kind of diagram is not in the engine of this page", unsupported: true };

/** Return {svg, width, height} for an answer of the engine, or {message, line, unsupported}: what is wrong. */
export function judge(answer, source, dark) {
  if (answer.error) {
    return { message: plainError(answer.error), unsupported: answer.error.includes("Unsupported diagram type") };
  }
  if (isUnsupported(answer.svg)) return LACKING;
  const error = findError(answer.svg);
  if (error) return EMBEDDED.test(source) ? LACKING : error;
  if (answer.svg.length > MAX_CHARS) return { message: "the picture is too large: make the diagram smaller" };
  return frame(answer.svg, dark);
}

function findError(svg) {
  const first = TEXT.exec(svg);
  const head = first ? plain(first[1]) : "";
  if (head.startsWith("An error has occured")) {
    const why = head.split(":").slice(1).join(":").trim().slice(0, 200);
    return { message: `the engine failed on this diagram (${why})` };
  }
  if (head.startsWith("Your data does not sound like") && all(svg, TEXTS).length === 1 && !SHAPE.test(svg)) {
    return { message: head };
  }
  if (!svg.includes(ERROR_COLOUR)) return null;
  const isBanner = () => all(svg, BANNERS).some((bar) => PLACE.test(bar));
  if (!HEADS.some((words) => head.startsWith(words)) && !isBanner()) return null;
  const texts = all(svg, TEXTS);
  const at = texts.findIndex((text) => PLACE.test(text));
  if (at < 0) return null;
  const message = texts.slice(at + 1).findLast((text) => text) ?? "Syntax Error?";
  return { message, line: Number(PLACE.exec(texts[at])[1]) };
}

function isUnsupported(svg) {
  const first = TEXT.exec(svg)?.[1];
  if (first === undefined) return false;
  if (first.startsWith("Diagram not supported by this release of PlantUML")) return true;
  return first === "No @startuml/@enduml found" && svg.includes(ERROR_COLOUR);
}

function frame(svg, dark) {
  const root = ROOT.exec(svg);
  if (!root) return { svg, width: 0, height: 0 };
  const [width, height] = ["width", "height"].map((name) => sizeOf(root[0], name) + 2 * MARGIN);
  const colour = BACKGROUND.exec(root[0])?.[1] ?? (dark ? DARK : LIGHT);
  const tag = root[0].replace(/\s(?:viewBox|width|height)="[^"]*"/g, "").slice(0, -1);
  const box = `viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" width="${width}" height="${height}"`;
  const paper = `<rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}" fill="${colour}"/>`;
  const after = svg.slice(root.index + root[0].length);
  return { svg: `${svg.slice(0, root.index)}${tag} ${box}>${paper}${after}`, width, height };
}

function sizeOf(tag, name) {
  const found = new RegExp(`\\s${name}=["']([\\d.]+)(?:px)?["']`).exec(tag);
  return found ? roundEven(Number(found[1])) : 0;
}

// A half goes to the even number, as in the server.
function roundEven(number) {
  const down = Math.floor(number);
  if (number - down !== 0.5) return Math.round(number);
  return down % 2 ? down + 1 : down;
}

const MARKS = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

function plain(text) {
  return text.replace(/&(?:lt|gt|quot|amp);/g, (mark) => MARKS[mark]).replaceAll("\u00a0", " ").trim();
}

function all(svg, pattern) {
  return Array.from(svg.matchAll(pattern), (found) => plain(found[1]));
}

function plainError(error) {
  const words = error.trim().split("\n")[0].slice(0, 300) || "the engine gave no reason";
  return words.replace(/^java\.lang\./, "").replace(/^Error: /, "");
}
