// The tool on version 1 of the TypeScript SDK: `typescript_v1.mjs stdio` or `typescript_v1.mjs http PORT`.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

import { NAME, TOOL, run } from './plantuml.mjs';

function makeServer() {
  const server = new McpServer({ name: 'plantuml', version: '1.0.0' });
  server.registerTool(NAME, TOOL, run);
  return server;
}

// Stateless Streamable HTTP with JSON answers: a server and a transport for each request, as the SDK documents it.
async function serveHttp(port) {
  const { createServer } = await import('node:http');
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const listener = async (request, response) => {
    const server = makeServer();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  };
  createServer(listener).listen(port, '127.0.0.1');
}

if (process.argv[2] === 'http') {
  await serveHttp(Number(process.argv[3]));
} else {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await makeServer().connect(new StdioServerTransport());
}
