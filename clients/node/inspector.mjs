// The Inspector's command line: one process for each question.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { GOOD, HANG, PATIENCE_MS, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, probe } from "./plan.mjs";

const launcher = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);
const target = PLAN.door === "http" ? ["--transport", "http", "--server-url", PLAN.url] : ["--", ...PLAN.command];

/** Run one command, and press Ctrl-C if it outlives its time; return what it printed. */
function run(options, patience = 40_000) {
  return new Promise((resolve) => {
    const own = ["--cli", "--format", "json", "--quiet"];
    // A group of its own: a terminal sends Ctrl-C to all processes of a command.
    const child = spawn(process.execPath, [launcher, ...own, ...options, ...target], { detached: true });
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => (printed[name] += chunk));
    const timer = setTimeout(() => process.kill(-child.pid, "SIGINT"), patience);
    child.on("close", (status) => {
      clearTimeout(timer);
      resolve({ status, ...printed });
    });
  });
}

const asking = (args) => ["--method", "tools/call", "--tool-name", TOOL, "--tool-args-json", JSON.stringify(args)];

async function text(args, isError = false) {
  const done = await run(asking(args));
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
    // Its start takes its time, and the call has to be on its way before it is interrupted.
    const done = await run(asking(HANG), PATIENCE_MS * 2);
    if (done.status === 0) throw new Error(`the hanging call was answered: ${done.stdout}`);
    return { text: await text(GOOD) };
  },
  progress: "its command line asks for no progress",
});
