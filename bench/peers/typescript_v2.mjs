// The tool on version 2 of the TypeScript SDK: `typescript_v2.mjs stdio` or `typescript_v2.mjs http PORT`.

import { McpServer } from '@modelcontextprotocol/server';

import { NAME, TOOL, run } from './plantuml.mjs';

const MODERN = '2026-07-28';

function makeServer() {
  const server = new McpServer({ name: 'plantuml', version: '1.0.0' });
  server.registerTool(NAME, TOOL, run);
  return server;
}

// Stateless Streamable HTTP with JSON answers in both eras, each by the SDK's own handler, a server for each request.
// The handler's own way for the older era answers with event streams alone; a look at a header is the cheapest choice.
async function serveHttp(port) {
  const { createServer } = await import('node:http');
  const { createMcpHandler } = await import('@modelcontextprotocol/server');
  const { NodeStreamableHTTPServerTransport, toNodeHandler } = await import('@modelcontextprotocol/node');
  const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject', responseMode: 'json' }));
  const legacy = async (request, response) => {
    const server = makeServer();
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  };
  createServer((request, response) =>
    request.headers['mcp-protocol-version'] === MODERN ? modern(request, response) : legacy(request, response),
  ).listen(port, '127.0.0.1');
}

if (process.argv[2] === 'http') {
  await serveHttp(Number(process.argv[3]));
} else {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  serveStdio(makeServer);
}
