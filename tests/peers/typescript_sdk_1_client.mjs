// The TypeScript SDK 1.x's client, which begins with initialize: `node typescript_sdk_1_client.mjs URL` does the steps
// of steps.LEGACY against that server.
//
// Copied beside the SDK's node_modules, where Node resolves its imports. Prints a line of JSON for each step: its name,
// and what it got or the error it ended with.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';

const ANSWERS = { agree: true, seat: 'aisle', name: 'Ada' };
let action = 'accept';
let heard = () => {};

const INFO = { name: 'typescript_sdk', version: '1' };
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
const client = new Client(INFO, { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    if (params.mode === 'url' || action !== 'accept') {
        return { action };
    }
    const names = Object.keys(params.requestedSchema.properties);
    return { action, content: Object.fromEntries(names.map(name => [name, ANSWERS[name]])) };
});
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
    role: 'assistant', model: 'atlas', content: { type: 'text', text: 'Paris' }
}));
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: 'file:///home/ada' }] }));
for (const schema of [
    LoggingMessageNotificationSchema, ToolListChangedNotificationSchema, ResourceUpdatedNotificationSchema]) {
    client.setNotificationHandler(schema, notification => heard(notification));
}

async function call(name, args = {}, options = {}) {
    return (await client.callTool({ name, arguments: args }, undefined, options)).content[0].text;
}

async function booked(wanted) {
    action = wanted;
    try {
        return await call('book', { flight: 'MC 1' });
    } finally {
        action = 'accept';
    }
}

async function all(fetch, name) {
    const found = [];
    for (let cursor; ;) {
        const page = await fetch(cursor === undefined ? {} : { cursor });
        found.push(...page[name]);
        cursor = page.nextCursor;
        if (cursor === undefined) {
            return found;
        }
    }
}

const steps = {
    connect: async () => [transport.protocolVersion, client.getServerVersion().name, client.getInstructions()],
    list_tools: async () => (await all(params => client.listTools(params), 'tools')).map(tool => tool.name).sort(),
    call: () => call('echo', { text: 'hi, Zürich ☃' }),
    structured: async () => (await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).structuredContent,
    tool_error: async () => {
        const result = await client.callTool({ name: 'fail' });
        return [result.isError, result.content[0].text];
    },
    bad_arguments: async () => (await client.callTool({ name: 'add', arguments: { a: 'two', b: 3 } })).isError,
    unknown_tool: () => call('nothing'),
    mirrored: () => call('route', { region: 'Zürich', shard: -7, dry: true }),
    odd_name: () => call('grüße'),
    elicit_accept: () => booked('accept'),
    elicit_decline: () => booked('decline'),
    elicit_cancel: () => booked('cancel'),
    elicit_url: () => call('visit'),
    three_in_a_round: () => call('consult'),
    undeclared: async () => {
        const other = new Client(INFO);
        await other.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
        return (await other.callTool({ name: 'visit' })).isError;
    },
    progress: async () => {
        const steps = [];
        const onprogress = ({ progress, total, message }) => steps.push([progress, total, message]);
        return [await call('count', {}, { onprogress }), steps];
    },
    log_messages: async () => {
        const logs = [];
        await client.setLoggingLevel('info');
        heard = ({ params }) => logs.push([params.level, params.logger ?? null, params.data]);
        return [await call('chat'), logs];
    },
    cancel: async () => {
        const gone = new AbortController();
        const onprogress = () => gone.abort();
        await call('wait', {}, { signal: gone.signal, onprogress }).catch(() => {});
        return call('waited');
    },
    list_resources: async () => (await client.listResources()).resources.map(each => each.uri).sort(),
    read: async () => (await client.readResource({ uri: 'peers://about' })).contents[0].text,
    read_octets: async () => (await client.readResource({ uri: 'peers://dot' })).contents[0].blob,
    list_templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate),
    read_template: async () => (await client.readResource({ uri: 'peers://plants/fern' })).contents[0].text,
    unknown_resource: async () => (await client.readResource({ uri: 'peers://nothing' })).contents,
    list_prompts: async () =>
        (await client.listPrompts()).prompts.map(each => [
            each.name,
            each.arguments.map(given => [given.name, given.required ?? false])
        ]),
    get_prompt: async () =>
        (await client.getPrompt({ name: 'advice', arguments: { plant: 'fern' } })).messages[0].content.text,
    complete_prompt: async () =>
        (await client.complete({ ref: { type: 'ref/prompt', name: 'advice' }, argument: { name: 'plant', value: 'f' } }))
            .completion.values,
    complete_template: async () => {
        const ref = { type: 'ref/resource', uri: 'peers://plants/{name}' };
        return (await client.complete({ ref, argument: { name: 'name', value: 'f' } })).completion.values;
    },
    listen: async () => {
        const next = method => new Promise(resolve => {
            heard = notification => notification.method.endsWith(method) && resolve(notification.params ?? {});
        });
        await client.subscribeResource({ uri: 'peers://about' });
        const changed = next('tools/list_changed');
        await call('grow');
        const first = await changed;
        const updated = next('resources/updated');
        await call('water');
        return [first !== undefined, (await updated).uri];
    }
};

// A step that never ends would leave the table without its line.
function inTime(step) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('20 s have passed')), 20000).unref());
    return Promise.race([step(), late]);
}

await client.connect(transport);
for (const [step, run] of Object.entries(steps)) {
    let said;
    try {
        said = { step, got: await inTime(run) };
    } catch (error) {
        said = { step, error: typeof error.code === 'number' ? error.code : `${error.name}: ${error.message}` };
    }
    console.log(JSON.stringify(said));
}
process.exit();
