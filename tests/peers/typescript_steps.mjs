// The steps of steps.py for the clients of both versions of the TypeScript SDK, whose methods have the same names.
//
// Copied beside each SDK's node_modules. Prints a line of JSON for each step: its name, and what it got or the error it
// ended with.
const ANSWERS = { agree: true, seat: 'aisle', name: 'Ada' };
let action = 'accept';
let heard = () => {};

export const [era, ...target] = process.argv.slice(2);
export const overHttp = target.length === 1;
export const modern = era === '2026-07-28';
export const hear = notification => heard(notification);

export const answers = {
    'elicitation/create': async ({ params }) => {
        if (params.mode === 'url' || action !== 'accept') {
            return { action };
        }
        const names = Object.keys(params.requestedSchema.properties);
        return { action, content: Object.fromEntries(names.map(name => [name, ANSWERS[name]])) };
    },
    'sampling/createMessage': async () => ({
        role: 'assistant', model: 'atlas', content: { type: 'text', text: 'Paris' }
    }),
    'roots/list': async () => ({ roots: [{ uri: 'file:///home/ada' }] })
};

async function all(list, name) {
    const found = [];
    let cursor;
    do {
        const page = await list(cursor === undefined ? {} : { cursor });
        found.push(...page[name]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
}

// client: connected. version: what it negotiated. callTool: (params, options) to a result. logLevel: what to put in a
// request's _meta to be sent log messages. other: gives another client, which has declared nothing.
export function stepsOf({ client, version, callTool, logLevel = {}, other }) {
    async function call(name, args = {}, options = {}, _meta = {}) {
        return (await callTool({ name, arguments: args, _meta }, options)).content[0].text;
    }
    async function booked(wanted) {
        action = wanted;
        try {
            return await call('book', { flight: 'MC 1' });
        } finally {
            action = 'accept';
        }
    }
    const steps = {
        connect: async () => [version(), client.getServerVersion().name, client.getInstructions()],
        mirrored_unlisted: () => call('route', { region: 'Zürich' }),
        list_tools: async () => (await all(page => client.listTools(page), 'tools')).map(tool => tool.name).sort(),
        call: () => call('echo', { text: 'hi, Zürich ☃' }),
        structured: async () => (await callTool({ name: 'add', arguments: { a: 2, b: 3 } })).structuredContent,
        tool_error: async () => {
            const result = await callTool({ name: 'fail' });
            return [result.isError, result.content[0].text];
        },
        bad_arguments: async () => (await callTool({ name: 'add', arguments: { a: 'two', b: 3 } })).isError,
        unknown_tool: () => call('nothing'),
        mirrored: () => call('route', { region: 'Zürich', shard: -7, dry: true }),
        mirrored_like_encoded: () => call('route', { region: '=?base64?eA==?=' }),
        odd_name: () => call('grüße'),
        elicit_accept: () => booked('accept'),
        elicit_decline: () => booked('decline'),
        elicit_cancel: () => booked('cancel'),
        elicit_url: () => call('visit'),
        three_in_a_round: () => call('consult'),
        undeclared: async () => (await (await other()).callTool({ name: 'visit' })).isError,
        progress: async () => {
            const steps = [];
            const onprogress = ({ progress, total, message }) => steps.push([progress, total, message]);
            return [await call('count', {}, { onprogress }), steps];
        },
        log_messages: async () => {
            const logs = [];
            heard = ({ params }) => logs.push([params.level, params.logger ?? null, params.data]);
            if (!modern) {
                await client.setLoggingLevel('info');
            }
            return [await call('chat', {}, {}, logLevel), logs];
        },
        cancel: async () => {
            const gone = new AbortController();
            const onprogress = () => gone.abort();
            await call('wait', {}, { signal: gone.signal, onprogress }).catch(() => {});
            return call('waited');
        },
        list_resources: async () => (await all(page => client.listResources(page), 'resources')).map(each => each.uri).sort(),
        read: async () => (await client.readResource({ uri: 'peers://about' })).contents[0].text,
        read_octets: async () => (await client.readResource({ uri: 'peers://dot' })).contents[0].blob,
        list_templates: async () =>
            (await client.listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate),
        read_template: async () => (await client.readResource({ uri: 'peers://plants/fern' })).contents[0].text,
        unknown_resource: async () => (await client.readResource({ uri: 'peers://nothing' })).contents,
        list_prompts: async () =>
            (await client.listPrompts()).prompts.map(each => [
                each.name,
                each.arguments.map(given => [given.name, given.required ?? false])
            ]),
        get_prompt: async () =>
            (await client.getPrompt({ name: 'advice', arguments: { plant: 'fern' } })).messages[0].content.text,
        complete_prompt: async () => {
            const ref = { type: 'ref/prompt', name: 'advice' };
            return (await client.complete({ ref, argument: { name: 'plant', value: 'f' } })).completion.values;
        },
        complete_template: async () => {
            const ref = { type: 'ref/resource', uri: 'peers://plants/{name}' };
            return (await client.complete({ ref, argument: { name: 'name', value: 'f' } })).completion.values;
        },
        listen: async () => {
            let tools, updated;
            const toolsChanged = new Promise(resolve => (tools = resolve));
            const resourceUpdated = new Promise(resolve => (updated = resolve));
            heard = ({ method, params }) => (method.endsWith('updated') ? updated(params.uri) : tools(true));
            const subscription = modern
                ? await client.listen({ toolsListChanged: true, resourceSubscriptions: ['peers://about'] })
                : await client.subscribeResource({ uri: 'peers://about' });
            await call('grow');
            const first = await toolsChanged;
            await call('water');
            const got = [first, await resourceUpdated];
            await subscription.close?.();
            return got;
        }
    };
    if (modern && overHttp) {
        steps.end_of_stream = async () => {
            const subscription = await client.listen({ toolsListChanged: true });
            console.log(JSON.stringify({ listening: true }));
            return subscription.closed;
        };
    }
    return steps;
}

// A step that never ends would leave the table without its line.
function inTime(step) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('20 s have passed')), 20000).unref());
    return Promise.race([step(), late]);
}

export async function tell(steps) {
    for (const [step, run] of Object.entries(steps)) {
        let said;
        try {
            said = { step, got: await inTime(run) };
        } catch (error) {
            said = { step, error: typeof error.code === 'number' ? error.code : `${error.name}: ${error.message}` };
        }
        console.log(JSON.stringify(said));
    }
}
