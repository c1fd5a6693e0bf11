/**
 * `skein/mcp`: stored conversations as tools for agents that use the Model Context Protocol.
 * `createMcpEndpoint` makes an endpoint from a store; `stdio` and `fetch` serve it in both generations of the
 * protocol. `skein mcp` and the address `/mcp` of `skein serve` are built on it.
 */

// - `endpoint.ts`: the endpoint, its transports and its tools
// - `tools/`: one file per tool; `endpoint-options.ts`: what they are made of; `endpoint-tool.ts`: what a
//   tool is, and the text of a failed call; `open-scope.ts`: which conversations are shown;
//   `direct-messages.ts`: which of them are private
// May import core, system, context, recorder, agent and api. It receives stores and agents, and opens none.

export { createMcpEndpoint, type McpCaller, type McpEndpoint, type McpStreams } from './endpoint.ts'
export type {
  McpAgent,
  McpEndpointOptions,
  McpEndpointStore,
  McpNotes,
  McpScope,
} from './tools/endpoint-options.ts'
