// The doors by the words that people read, the same in every view; the journal's files have the short ones.

const NAMES = new Map([
  ["http mcp", "MCP over HTTP"],
  ["stdio mcp", "MCP on stdio"],
  ["rest", "REST"],
  ["rest, legacy", "REST, older path"],
  ["http envelope", "Envelope over HTTP"],
  ["stdio envelope", "Envelope on stdio"],
  ["page", "Page"],
  ["console", "Console"],
  ["none", "No door"],
]);

/** Return the name of a door; one that is not known here is named as it is. */
export function doorName(door) {
  return NAMES.get(door) ?? door;
}
