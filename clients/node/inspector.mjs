// The Inspector's command line: one process for each question.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { GOOD, HANG, PATIENCE_MS, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, probe } from "./plan.mjs";

const launcher = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);
const target = PLAN.door === "http" ? ["--transport", "http", "--server-url", PLAN.url] : ["--", ...PLAN.command];

/** Run one command; return the exit status and what it printed. */
function run(options, patience = 40_000) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [launcher, "--cli", "--format", "json", ...options, ...target]);
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => (printed[name] += chunk));
    const timer = setTimeout(() => child.kill("SIGINT"), patience);
    child.on("close", (status) => {
      clearTimeout(timer);
      resolve({ status, ...printed });
    });
  });
}

async function text(args, isError = false) {
  const done = await run(["--method", "tools/call", "--tool-name", TOOL, "--tool-args-json", JSON.stringify(args)]);
  const { result } = JSON.parse(done.stdout || "{}");
  if (result === undefined || Boolean(result.isError) !== isError) throw new Error(done.stdout + done.stderr);
  return result.content.map((block) => block.text).join("");
}

await probe({
  list: async () => {
    const done = await run(["--method", "tools/list", "--strict"]);
    if (done.status !== 0) throw new Error(done.stderr);
    const { tools } = JSON.parse(done.stdout).result;
    return { tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.inputSchema])) };
  },
  call: async () => ({ text: await text(GOOD) }),
  error: async () => ({ code: await text(WRONG_CODE, true), order: await text(WRONG_ORDER, true) }),
  cancel: async () => {
    const args = JSON.stringify(HANG);
    await run(["--method", "tools/call", "--tool-name", TOOL, "--tool-args-json", args], PATIENCE_MS);
    return { text: await text(GOOD) };
  },
  progress: "its command line prints the result alone, no progress",
});
