// The MCP client of Vercel's AI SDK: `node ai_sdk_client.mjs ERA TARGET` does what it can of the steps of steps.py.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { answers, modern, overHttp, stepsOf, target, tell } from './typescript_steps.mjs';

const transport = overHttp
    ? { type: 'http', url: target[0] }
    : new StdioTransport({ command: target[0], args: target.slice(1) });
const made = await createMCPClient({
    transport, capabilities: { elicitation: { form: {} } }, protocolVersionDiscovery: modern
});
made.onElicitationRequest(ElicitationRequestSchema, answers['elicitation/create']);

// With the names and the parameters that the SDKs' clients have.
const client = {
    getServerVersion: () => made.serverInfo,
    getInstructions: () => made.instructions,
    listTools: params => made.listTools({ params }),
    listResources: params => made.listResources({ params }),
    listResourceTemplates: () => made.listResourceTemplates(),
    readResource: given => made.readResource(given),
    listPrompts: params => made.listPrompts({ params }),
    getPrompt: given => made.getPrompt(given),
    complete: given => made.complete(given)
};
const all = stepsOf({
    client,
    version: () => made.initializeResult.protocolVersion,
    callTool: ({ name, arguments: given }) => made.callTool({ name, arguments: given ?? {} })
});
for (const step of [
    'elicit_url', 'undeclared', 'three_in_a_round', 'progress', 'log_messages', 'cancel', 'listen', 'end_of_stream'
]) {
    delete all[step];
}
await tell(all);
await made.close();
process.exit();
