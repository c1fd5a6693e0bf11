/**
 * Other programs' agents, over the Agent Client Protocol. `createHost` uses one like an agent of ours;
 * `startProxy` runs between an editor and an agent, stores the conversation and gives the agent its memory
 * back.
 */

// Start with `seat/seat-state.ts` and `seat/seat.ts`: one branch held by one session of one agent.
// - `wire/`: lines, requests and edits of JSON text; `process/`: the agent's process, started again if it
//   dies
// - `transcript/`: updates of an agent ⇄ messages; `fold.ts` is pure, `record-turn.ts` writes its result
// - `memory/`: what an agent lacks, by comparing its replay with the stored path, and what it is told
// - `sessions/`: ids, lists, forks and deletion of sessions, for `proxy/` and `serve/`
// - `host/`: an agent in a program of ours; `proxy/`: an agent behind an editor; `serve/`: our own agent
// May import core, system, context, recorder and agent. The folders above the last line do not know host,
// proxy and serve, and these three do not know each other.

export type { AgentLink, NewAgentLink } from '../core/branch.ts'
export { agentName } from './host/agent-name.ts'
export type {
  AgentOffer,
  AgentSetting,
  AgentSettingChoice,
  AgentSlashCommand,
} from './host/agent-settings.ts'
export type {
  AskElicitation,
  ElicitationAnswer,
  ElicitationField,
  ElicitationRequest,
} from './host/elicitation.ts'
export { createHost } from './host/host.ts'
export type { Host, HostOptions, HostSendOptions } from './host/host-options.ts'
export type { SettingChange } from './host/host-settings.ts'
export type { HostService } from './host/offered-work.ts'
export type { AskPermission, PermissionOption, PermissionRequest } from './host/permission.ts'
export { allowPermission, refusePermission } from './host/permission.ts'
export type { FailedTier, MemoryOutcome, MemoryReport } from './memory/memory-report.ts'
export type { AgentCommand } from './process/agent-process.ts'
export type { AcpProxy, ProxyOptions } from './proxy/proxy.ts'
export { startProxy } from './proxy/proxy.ts'
export type { ProxyLimits, ProxyStore } from './proxy/proxy-context.ts'
export type { HandOverSummaries } from './seat/hand-over.ts'
export type { RecallCommand } from './seat/recall-server.ts'
export type { SeatStore } from './seat/seat-prompt.ts'
