// The official TypeScript SDK's client: `node typescript_sdk_client.mjs ERA TARGET` does the steps of steps.py.
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, hear, modern, overHttp, stepsOf, target, tell } from './typescript_steps.mjs';

const INFO = { name: 'typescript_sdk', version: '2' };
const versionNegotiation = { mode: modern ? 'auto' : 'legacy' };

const transport = () =>
    overHttp
        ? new StreamableHTTPClientTransport(new URL(target[0]))
        : new StdioClientTransport({ command: target[0], args: target.slice(1) });

const client = new Client(INFO, {
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    versionNegotiation
});
for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(method, answer);
}
for (const name of ['message', 'tools/list_changed', 'resources/updated']) {
    client.setNotificationHandler(`notifications/${name}`, hear);
}
const others = [];

await client.connect(transport());
await tell(
    stepsOf({
        client,
        version: () => client.getNegotiatedProtocolVersion(),
        callTool: (params, options) => client.callTool(params, options),
        logLevel: modern ? { [LOG_LEVEL_META_KEY]: 'info' } : {},
        other: async () => {
            const other = new Client(INFO, { versionNegotiation });
            others.push(other);
            await other.connect(transport());
            return other;
        }
    })
);
await Promise.all([client, ...others].map(each => each.close().catch(() => {})));
process.exit();
