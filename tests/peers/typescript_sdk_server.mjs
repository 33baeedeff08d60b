// The official TypeScript SDK's server for the bench: `node typescript_sdk_server.mjs PORT`.
//
// The bench copies this file beside the SDK's node_modules, where Node resolves its imports. The SDK's fastest
// documented set-up: JSON answers only, no serving of the older era, the schema built once, and the Host and Origin
// guards that the SDK prescribes for plain node:http.
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const inputSchema = z.object({ text: z.string() });

function makeServer() {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    server.registerTool('echo', { description: 'Return the text unchanged.', inputSchema }, async ({ text }) => ({
        content: [{ type: 'text', text }]
    }));
    return server;
}

const hostIsLocal = localhostHostValidation();
const originIsLocal = localhostOriginValidation();
const serve = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject', responseMode: 'json' }));

createServer((request, response) => {
    if (hostIsLocal(request, response) && originIsLocal(request, response)) {
        void serve(request, response);
    }
}).listen(Number(process.argv[2]), '127.0.0.1');
