// Vercel's AI SDK: generateText with its own mock model and the tools of @ai-sdk/mcp.
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { GOOD, HANG, PATIENCE_MS, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, giveUp, probe } from "./plan.mjs";

const [command, ...args] = PLAN.command;
const transport = PLAN.door === "http" ? { type: "http", url: PLAN.url } : new StdioMCPTransport({ command, args });
const client = await createMCPClient({ transport });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** Return the texts that the model is given for its calls, and the tools that it was offered. */
async function run(calls, options = {}) {
  let turn = 0;
  let last;
  const model = new MockLanguageModelV4({
    doGenerate: async (asked) => {
      last = asked;
      const input = calls[turn++];
      const content = input === undefined
        ? { type: "text", text: "done" }
        : { type: "tool-call", toolCallId: String(turn), toolName: TOOL, input: JSON.stringify(input) };
      return {
        content: [content],
        finishReason: { unified: input === undefined ? "stop" : "tool-calls" },
        usage,
        warnings: [],
      };
    },
  });
  const stopWhen = stepCountIs(calls.length + 1);
  const { text } = await generateText({ model, tools: await client.tools(), stopWhen, prompt: "go", ...options });
  if (text !== "done") throw new Error(`the run ended with ${text}`);
  const results = last.prompt.filter((message) => message.role === "tool").flatMap((message) => message.content);
  return {
    texts: results.map((result) => JSON.stringify(result.output)),
    tools: Object.fromEntries(last.tools.map((tool) => [tool.name, tool.inputSchema])),
  };
}

await probe({
  list: async () => ({ tools: (await run([])).tools }),
  call: async () => ({ text: (await run([GOOD])).texts[0] }),
  error: async () => {
    const [code, order, text] = (await run([WRONG_CODE, WRONG_ORDER, GOOD])).texts;
    return { code, order, text };
  },
  cancel: async () => {
    await giveUp(run([HANG], { abortSignal: AbortSignal.timeout(PATIENCE_MS) }));
    return { text: (await run([GOOD])).texts[0] };
  },
  progress: "it asks for no progress: its `RequestOptions` have a signal and timeouts alone",
});
await client.close();
