/**
 * The agent: the loop of model, tools and stored conversations. `createAgent` makes one; tools are functions
 * (`tool`), tools for files and commands (`codingTools`), tools of MCP servers (`openMcpTools`), other agents
 * (`subagent`) or searches in earlier conversations (`recallTools`).
 */

// Start with `agent.ts` (`createAgent`), then `run-turn.ts`, which runs one turn and explains its order.
// - `run-steps.ts` alternates between `call-model.ts` and tools; `interruption.ts` finds where an interrupted
//   turn continues
// - `next-context.ts`: what the next call sends
// - `run/`: a turn in progress and its events
// - `history/`: where conversations are kept, in a store or in memory
// - `tools/`: tools, and how their calls run
// - `approval/`: the port that decides whether a call may run
// - `coding/`: tools that read, search and change files, and run commands
// - `mcp/`: tools of MCP servers; `recall/`: earlier conversations; `subagent.ts`: an agent as a tool
// May import core, system, context and recorder. It receives a store and a model, and opens neither.

export type { Calibration } from '../context/fit/calibrate.ts'
export type {
  ApprovalAnswer,
  ApprovalKeeper,
  ApprovalRequest,
  CallKind,
  CallPreview,
  ListApprovals,
  NewApprovalAnswer,
  StoredApproval,
} from '../core/approval.ts'
export type { ParentLink } from '../core/conversation.ts'
export type { Agent } from './agent.ts'
export { createAgent } from './agent.ts'
export type { AgentModel } from './agent-model.ts'
export type { ApprovalDecision, ApprovalDetails, ApprovalMemory, Approve } from './approval/approval.ts'
export { allowTools, approvalMemory } from './approval/approval.ts'
export type { CodingToolsOptions } from './coding/coding-tools.ts'
export { codingTools } from './coding/coding-tools.ts'
export type { Target } from './history/history.ts'
export type { McpHttpServer, McpProcessServer, McpServer } from './mcp/mcp-transport.ts'
export type { McpOptions, McpProblem, McpTools } from './mcp/open-mcp-tools.ts'
export { openMcpTools } from './mcp/open-mcp-tools.ts'
export type { NextContextOptions } from './next-context.ts'
export { nextContext } from './next-context.ts'
export type { AgentOptions, AgentStore, SendOptions, Summarizer } from './options.ts'
export type { RecallStore } from './recall/recall-digest.ts'
export type { RecallToolsOptions } from './recall/recall-tools.ts'
export { recallTools } from './recall/recall-tools.ts'
export type { AgentEvent, PendingApproval, Reply } from './run/events.ts'
export type { Run } from './run/run.ts'
export type { SubagentOptions } from './subagent.ts'
export { subagent } from './subagent.ts'
export type { AiSdkTool } from './tools/ai-sdk-tool.ts'
export type { SchemaIssue, SchemaResult, StandardSchema } from './tools/input-schema.ts'
export type {
  AgentTool,
  ApprovalCheck,
  ToolContext,
  ToolDefinition,
  ToolOutcome,
  Tools,
} from './tools/tool.ts'
export { tool } from './tools/tool.ts'
