// The plan that the runner hands to a probe, and the lines that a probe prints: one JSON object per column.
export const PLAN = JSON.parse(process.argv[2]);
export const TOOL = PLAN.tool;
export const { good: GOOD, wrong_code: WRONG_CODE, wrong_order: WRONG_ORDER, slow: SLOW, hang: HANG } = PLAN.calls;
export const PATIENCE_MS = PLAN.patience_s * 1000;
const LIMIT_MS = 45_000;

const late = (ms, what) =>
  new Promise((_, reject) => setTimeout(() => reject(new Error(what)), ms).unref());

/** Try each column in turn; a column that throws or takes too long has failed, and the next one is tried. */
export async function probe(columns) {
  for (const [column, attempt] of Object.entries(columns)) {
    let seen;
    try {
      seen = typeof attempt === "string"
        ? { lacks: attempt }
        : await Promise.race([attempt(), late(LIMIT_MS, "it took too long")]);
    } catch (error) {
      seen = { failed: String(error) };
    }
    console.log(JSON.stringify({ column, ...seen }));
    // Stay connected while the runner looks whether the call has ended.
    if (column === "cancel") await new Promise((resolve) => setTimeout(resolve, PLAN.hold_s * 1000));
  }
}

/** Await a call that the client must end by itself; throw if it is answered, or outlives the client's patience. */
export async function giveUp(call) {
  const kept = "the client did not end the call";
  const answer = await Promise.race([call, late(PATIENCE_MS * 4, kept)]).catch((error) => {
    if (error.message === kept) throw error;
  });
  if (answer !== undefined) throw new Error(`the hanging call was answered: ${JSON.stringify(answer)}`);
}

/** Return the columns of a client of the official SDK, of either major version. */
export function sdkColumns(client, call) {
  const text = async (args, isError = false, options = undefined) => {
    const result = await call({ name: TOOL, arguments: args }, options);
    if (Boolean(result.isError) !== isError) throw new Error(JSON.stringify(result));
    return result.content.map((block) => block.text).join("");
  };
  return {
    list: async () => {
      const { tools } = await client.listTools();
      return { tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.inputSchema])) };
    },
    call: async () => ({ text: await text(GOOD) }),
    error: async () => ({ code: await text(WRONG_CODE, true), order: await text(WRONG_ORDER, true) }),
    cancel: async () => {
      await giveUp(call({ name: TOOL, arguments: HANG }, { timeout: PATIENCE_MS }));
      return { text: await text(GOOD) };
    },
    progress: async () => {
      // The call takes longer than this timeout: only progress holds it.
      let seen = 0;
      const options = { timeout: PLAN.reset_s * 1000, resetTimeoutOnProgress: true, onprogress: () => (seen += 1) };
      return { text: await text(SLOW, false, options), progress: seen };
    },
  };
}
