// The official SDK, major version 2.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { PLAN, probe, sdkColumns } from "./plan.mjs";

const [command, ...args] = PLAN.command;
const transport = PLAN.door === "http"
  ? new StreamableHTTPClientTransport(new URL(PLAN.url))
  : new StdioClientTransport({ command, args });
const client = new Client({ name: "probe", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(transport);
await probe(sdkColumns(client, (params, options) => client.callTool(params, options)));
await client.close();
