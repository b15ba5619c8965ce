// A diagram in the text of the editor: where it begins and ends, and what is wrong with its frame. The rules are those
// of the tools that draw in the server, so that a text means the same in both.

const START = /^\s*@start([a-z]+)/i;
const END = /^\s*@end([a-z]+)/i;

/** Return the lines of a text; PlantUML knows no other ends of lines than these. */
export function linesOf(text) {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").split("\n");
}

/** Return {text, shift, lines} of the one diagram in a text, or {message, line}: what is wrong with its frame. */
export function findDiagram(text) {
  const lines = linesOf(text);
  const starts = matches(lines, START);
  const ends = matches(lines, END);
  if (!starts.length) return withoutStart(lines, ends);
  const [first, start] = starts[0];
  const behind = ends.filter(([number]) => number > first);
  if (starts.length > 1) {
    const line = starts[1][0] + 1;
    const begun = !behind.length || behind[0][0] >= line ? "before the first has ended" : "here";
    return { message: `a second diagram begins ${begun}: send one diagram at a time`, line };
  }
  if (!behind.length) {
    const line = lines.findLastIndex((one) => one.trim()) + 1;
    return { message: `the diagram does not end: write @end${start[1]} behind its last line`, line };
  }
  const [last, end] = behind[0];
  if (end[1].toLowerCase() !== start[1].toLowerCase()) {
    return { message: `@end${end[1]} cannot end what @start${start[1]} has begun`, line: last + 1 };
  }
  const body = [lowered(lines[first], start), ...lines.slice(first + 1, last), lowered(lines[last], end)];
  return { text: body.join("\n"), shift: first, lines: lines.length };
}

/** Return the line of the text as given for a line that the engine names. */
export function placeOf(diagram, line) {
  return Math.min(Math.max(line + diagram.shift, 1), diagram.lines);
}

function withoutStart(lines, ends) {
  if (ends.length) {
    const [number, match] = ends[0];
    return { message: `@end${match[1]} ends a diagram that has not begun: write @start${match[1]}`, line: number + 1 };
  }
  return { text: ["@startuml", ...lines, "@enduml"].join("\n"), shift: -1, lines: lines.length };
}

function matches(lines, pattern) {
  return lines.map((line, number) => [number, pattern.exec(line)]).filter(([, match]) => match);
}

function lowered(line, match) {
  return (match[0].toLowerCase() + line.slice(match[0].length)).trim();
}
