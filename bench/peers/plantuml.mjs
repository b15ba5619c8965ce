// The tool body that every peer on Node.js serves, with its contract in the words of zod.

import { deflateRawSync } from 'node:zlib';
import * as z from 'zod/v4';

export const NAME = 'encodePlantUML';
const VIEWER = 'https://www.plantuml.com/plantuml/svg/';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PLANTUML = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const TO_PLANTUML = Buffer.alloc(128);
for (let at = 0; at < BASE64.length; at += 1) TO_PLANTUML[BASE64.charCodeAt(at)] = PLANTUML.charCodeAt(at);

// Deflate the text without a zlib header and spell it in PlantUML's alphabet, byte by byte in one buffer.
function encode(text) {
  const letters = Buffer.from(deflateRawSync(text, { level: 9 }).toString('base64'), 'latin1');
  let end = letters.length;
  while (letters[end - 1] === 0x3d) end -= 1;
  for (let at = 0; at < end; at += 1) letters[at] = TO_PLANTUML[letters[at]];
  return letters.latin1Slice(0, end);
}

// What `registerTool` takes; the schemas are made once, however many servers are.
export const TOOL = {
  description: 'Encode PlantUML source text into a URL that shows the diagram.',
  inputSchema: z.object({ plantumlCode: z.string() }),
  outputSchema: z.object({ url: z.string(), encoded: z.string(), format: z.string() }),
};

export function run({ plantumlCode }) {
  const encoded = encode(plantumlCode);
  const answer = { url: VIEWER + encoded, encoded, format: 'svg' };
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
}
