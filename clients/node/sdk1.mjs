// The official SDK, major version 1; behind supergateway too.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { PLAN, probe, sdkColumns } from "./plan.mjs";

const [command, ...args] = PLAN.command;
const transport = PLAN.door === "http"
  ? new StreamableHTTPClientTransport(new URL(PLAN.url))
  : new StdioClientTransport({ command, args });
const client = new Client({ name: "probe", version: "1" });
await client.connect(transport);
await probe(sdkColumns(client, (params, options) => client.callTool(params, undefined, options)));
await client.close();
