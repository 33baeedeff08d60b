// The client of the TypeScript SDK's version 1: `node typescript_sdk_1_client.mjs ERA TARGET` does the steps of steps.py.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { answers, hear, overHttp, stepsOf, target, tell } from './typescript_steps.mjs';

const INFO = { name: 'typescript_sdk', version: '1' };
let version;

function transport() {
    const made = overHttp
        ? new StreamableHTTPClientTransport(new URL(target[0]))
        : new StdioClientTransport({ command: target[0], args: target.slice(1) });
    const told = made.setProtocolVersion?.bind(made);
    made.setProtocolVersion = negotiated => {
        version = negotiated;
        told?.(negotiated);
    };
    return made;
}

const client = new Client(INFO, { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } });
client.setRequestHandler(ElicitRequestSchema, answers['elicitation/create']);
client.setRequestHandler(CreateMessageRequestSchema, answers['sampling/createMessage']);
client.setRequestHandler(ListRootsRequestSchema, answers['roots/list']);
for (const schema of [LoggingMessageNotificationSchema, ToolListChangedNotificationSchema, ResourceUpdatedNotificationSchema]) {
    client.setNotificationHandler(schema, hear);
}
const others = [];

await client.connect(transport());
await tell(
    stepsOf({
        client,
        version: () => version,
        callTool: (params, options) => client.callTool(params, undefined, options),
        other: async () => {
            const other = new Client(INFO);
            others.push(other);
            await other.connect(transport());
            return other;
        }
    })
);
await Promise.all([client, ...others].map(each => each.close().catch(() => {})));
process.exit();
