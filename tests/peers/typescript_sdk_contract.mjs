// The official TypeScript SDK's server of the interoperability table: `node typescript_sdk_contract.mjs PORT`, or
// `stdio` in place of a port.
//
// Copied beside the SDK's node_modules, where Node resolves its imports. Offers what server.py does, in the SDK's own
// ways.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    completable, createMcpHandler, inputRequired, McpServer, ResourceNotFoundError, ResourceTemplate
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const PLANTS = { fern: 'shade', fig: 'sun', cactus: 'sun' };
const plantsFrom = value => Object.keys(PLANTS).filter(name => name.startsWith(value));
const text = words => ({ content: [{ type: 'text', text: words }] });
const form = (message, name, schema) =>
    inputRequired.elicit({
        message, requestedSchema: { type: 'object', properties: { [name]: schema }, required: [name] }
    });
const overStdio = process.argv[2] === 'stdio';
let gone = false;
const pause = () => new Promise(resolve => setTimeout(resolve, 50));

function addTools(server) {
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, async given => text(given.text));
    server.registerTool(
        'add',
        { inputSchema: z.object({ a: z.int(), b: z.int() }), outputSchema: z.object({ sum: z.int() }) },
        async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } })
    );
    server.registerTool('fail', {}, async () => ({ ...text('out of order'), isError: true }));
    server.registerTool(
        'route',
        {
            inputSchema: z.object({
                region: z.string().meta({ 'x-mcp-header': 'Region' }),
                shard: z.int().default(0).meta({ 'x-mcp-header': 'Shard' }),
                dry: z.boolean().default(false).meta({ 'x-mcp-header': 'Dry-Run' })
            })
        },
        async ({ region, shard, dry }) => text(`region ${region}, shard ${shard}, ${dry ? 'dry' : 'wet'}`)
    );
    server.registerTool('grüße', {}, async () => text('Grüße'));
}

function addAskingTools(server) {
    server.registerTool('book', { inputSchema: z.object({ flight: z.string() }) }, async ({ flight }, { mcpReq }) => {
        const { agree, seat } = mcpReq.inputResponses ?? {};
        if (mcpReq.requestState() !== 'agreed') {
            if (agree === undefined) {
                const question = form(`Book ${flight}?`, 'agree', { type: 'boolean' });
                return inputRequired({ inputRequests: { agree: question }, requestState: 'asked' });
            }
            if (agree.action !== 'accept') {
                return text(`not booked: ${agree.action}`);
            }
        }
        if (seat === undefined) {
            const question = form('Which seat?', 'seat', { type: 'string', enum: ['aisle', 'window'] });
            return inputRequired({ inputRequests: { seat: question }, requestState: 'agreed' });
        }
        return text(`${flight} booked, seat ${seat.content.seat}`);
    });
    server.registerTool('visit', {}, async ({ mcpReq }) => {
        const page = mcpReq.inputResponses?.page;
        const question = { message: 'Sign in, please', url: 'https://example.com/sign-in' };
        return page ? text(page.action) : inputRequired({ inputRequests: { page: inputRequired.elicitUrl(question) } });
    });
    server.registerTool('consult', {}, async ({ mcpReq }) => {
        const { capital, roots, name } = mcpReq.inputResponses ?? {};
        if (!capital || !roots || !name) {
            const asked = { role: 'user', content: { type: 'text', text: 'What is the capital of France?' } };
            return inputRequired({
                inputRequests: {
                    capital: inputRequired.createMessage({ messages: [asked], maxTokens: 100 }),
                    roots: inputRequired.listRoots(),
                    name: form('Your name?', 'name', { type: 'string' })
                }
            });
        }
        return text(`${name.content.name}: ${capital.content.text}, ${roots.roots[0].uri}`);
    });
}

function addSpeakingTools(server) {
    const progress = (mcpReq, params) =>
        mcpReq._meta?.progressToken === undefined
            ? undefined
            : mcpReq.notify({
                  method: 'notifications/progress',
                  params: { progressToken: mcpReq._meta.progressToken, ...params }
              });
    server.registerTool('count', {}, async ({ mcpReq }) => {
        for (const step of [1, 2, 3]) {
            await progress(mcpReq, { progress: step, total: 3, message: `${step} of 3` });
        }
        return text('counted');
    });
    server.registerTool('chat', {}, async ({ mcpReq }) => {
        await mcpReq.log('debug', 'not for everybody');
        await mcpReq.log('info', 'begun');
        await mcpReq.log('warning', { left: 1 }, 'chatter');
        return text('logged');
    });
    server.registerTool('wait', {}, async ({ mcpReq }) => {
        gone = false;
        await progress(mcpReq, { progress: 1 });
        for (let step = 0; step < 200 && !mcpReq.signal.aborted; step++) {
            await pause();
        }
        gone = mcpReq.signal.aborted;
        return text('nobody left');
    });
    server.registerTool('waited', {}, async () => {
        for (let step = 0; step < 200 && !gone; step++) {
            await pause();
        }
        return text(gone ? 'cancelled' : 'not cancelled');
    });
    server.registerTool('grow', {}, async () => {
        overStdio ? server.sendToolListChanged() : handler.notify.toolsChanged();
        return text('grown');
    });
    server.registerTool('water', {}, async () => {
        overStdio ? server.server.sendResourceUpdated({ uri: 'peers://about' }) : handler.notify.resourceUpdated('peers://about');
        return text('watered');
    });
}

function addResourcesAndPrompts(server) {
    server.registerResource('about', 'peers://about', { mimeType: 'text/plain' }, async uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'About, in Zürich' }]
    }));
    server.registerResource('dot', 'peers://dot', { mimeType: 'application/octet-stream' }, async uri => {
        const blob = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet)).toString('base64');
        return { contents: [{ uri: uri.href, mimeType: 'application/octet-stream', blob }] };
    });
    const template = new ResourceTemplate('peers://plants/{name}', { list: undefined, complete: { name: plantsFrom } });
    server.registerResource('plant', template, { mimeType: 'text/plain' }, async (uri, { name }) => {
        if (!(name in PLANTS)) {
            throw new ResourceNotFoundError(uri.href);
        }
        return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: PLANTS[name] }] };
    });
    const argsSchema = z.object({ plant: completable(z.string(), plantsFrom), season: z.string().optional() });
    server.registerPrompt('advice', { argsSchema }, ({ plant, season = 'spring' }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `How do I look after a ${plant} in ${season}?` } }]
    }));
}

const handler = createMcpHandler(makeServer, { legacy: 'reject' });

function makeServer() {
    const server = new McpServer(
        { name: 'peers', version: '1.0.0' },
        {
            instructions: 'One of each thing that two implementations must agree on.',
            capabilities: {
                logging: {}, tools: { listChanged: true }, resources: { listChanged: true, subscribe: true }
            }
        }
    );
    addTools(server);
    addAskingTools(server);
    addSpeakingTools(server);
    addResourcesAndPrompts(server);
    return server;
}

if (overStdio) {
    serveStdio(makeServer, { legacy: 'reject' });
} else {
    const listening = createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
    process.on('SIGTERM', async () => {
        await handler.close();
        listening.close(() => process.exit());
        listening.closeIdleConnections();
    });
}
