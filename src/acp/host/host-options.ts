import type { Agent } from '../../agent/agent.ts'
import type { ApprovalMemory, Approve } from '../../agent/approval/approval.ts'
import type { Target } from '../../agent/history/history.ts'
import type { SendOptions } from '../../agent/options.ts'
import type { Reply } from '../../agent/run/events.ts'
import type { Run } from '../../agent/run/run.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { MemoryOutcome, MemoryReport } from '../memory/memory-report.ts'
import type { AgentCommand } from '../process/agent-process.ts'
import type { HandOverSummaries } from '../seat/hand-over.ts'
import type { RecallCommand } from '../seat/recall-server.ts'
import type { SeatStore } from '../seat/seat-prompt.ts'
import type { AgentOffer } from './agent-settings.ts'
import type { AskElicitation } from './elicitation.ts'
import type { SettingChange } from './host-settings.ts'
import type { HostService } from './offered-work.ts'
import type { AskPermission } from './permission.ts'

/** The agent of a host, and where its conversations are stored. */
export interface HostOptions {
  /** Stays open: the host does not close it. */
  readonly store: SeatStore
  /** The agent's command: `copilot --acp --stdio`. */
  readonly command: AgentCommand
  /** The name under which its sessions are stored. Default: the name of its command. */
  readonly name?: string
  /** The system prompt, stored as the prompt of the conversation. The agent gets it as the first block of the
   *  first prompt of each new session. A conversation with the policy `stored` keeps its own. */
  readonly system?: string
  /** The agent's working directory. Default: the current one. */
  readonly directory?: string
  /** MCP servers for the agent, as in `session/new`. Default: none. */
  readonly mcpServers?: readonly JsonObject[]
  /** Most tokens to inject into a session that does not know the conversation. Default: 24,000. */
  readonly tell?: number
  /** Summaries for the next agent of a conversation. Default: none, because each one costs a model call. */
  readonly summaries?: HandOverSummaries
  /** The command of `skein mcp` on the same store, without a conversation. An agent that has to be told a
   *  conversation gets it as an MCP server that reads this conversation only. Default: none. */
  readonly recall?: RecallCommand
  /** Answers the agent's permission requests. Default: `refusePermission`. */
  readonly onPermission?: AskPermission
  /** Settings of the agent in every conversation of this host, by their ids: `{ mode: 'plan' }`. A message
   *  fails if the agent does not offer one of them. Default: those that were chosen in the conversation
   *  before, else the agent's own. */
  readonly settings?: Readonly<Record<string, string>>
  /** The agent has changed a setting between two turns, or refuses one that was chosen before. In a turn, the
   *  run has the event `setting`. */
  readonly onSetting?: (change: SettingChange) => void
  /** Further directories of the project, as absolute paths. Agents that accept them get them with each
   *  session. Default: none. */
  readonly additionalDirectories?: readonly string[]
  /** What the host does for the agent: `files` reads and writes text files, `terminals` runs commands. Every
   *  change and every command is asked for by `approve`. Default: nothing; the agent does it itself. */
  readonly offers?: readonly HostService[]
  /** Decides about the files and commands of `offers`. Default: denies them. */
  readonly approve?: Approve
  /** Remembers answers for longer than one request. Default: a memory of this host. */
  readonly approvals?: ApprovalMemory
  /** Asks the person what the agent wants to know. Default: the agent cannot ask. */
  readonly onElicitation?: AskElicitation
  /** Receives the agent's stderr. */
  readonly onStderr?: (text: string) => void
  /** Clock, ids and timers. Default: those of the system. */
  readonly source?: RecorderSource
}

/** Options of one message. */
export interface HostSendOptions extends SendOptions {
  /** Injected instead of the stored history, if the agent needs one. */
  readonly history?: readonly NewMessage[]
}

/** The client side of the protocol: another program's agent, with its conversations in our store. It
 *  implements Agent, so it can replace one of ours. */
export interface Host extends Agent {
  /** Sends a message, and returns the run of its turn. */
  send(target: Target, words: string | NewMessage, options?: HostSendOptions): Run
  /** The same, and waits for the reply. */
  ask(target: Target, words: string | NewMessage, options?: HostSendOptions): Promise<Reply>
  /** Starts the agent's process ahead of the first message, for agents that start slowly. If that fails, the
   *  first message reports it. */
  wake(): void
  /** Starts the agent and restores its memory of this conversation, as the first message would. */
  start(target: Target): Promise<MemoryReport>
  /** The settings and the slash commands of the agent in a conversation. Opens its session, as the first
   *  message would. `null`: for a conversation that does not exist yet; the next new one gets this
   *  session. */
  offer(target: Target | null): Promise<AgentOffer>
  /** The same, as far as it is known now: null if the agent has no session here. Starts nothing. */
  knownOffer(target: Target | null): Promise<AgentOffer | null>
  /** Changes a setting of the agent in a conversation: `mode`, `model`, or an id of `offer`, and the id or
   *  the name of a choice. It is stored, and set again in later sessions. Throws InvalidError. */
  set(target: Target | null, setting: string, value: string): Promise<AgentOffer>
  /** True until the agent has been prompted in its current session, and for an unknown conversation. */
  isFirstMessage(target: Target): Promise<boolean>
  /** True if the agent's session was resumed or loaded; false if it is new, and for an unknown
   *  conversation. */
  wasResumed(target: Target): Promise<boolean>
  /** How often each outcome occurred. */
  outcomes(): Readonly<Record<MemoryOutcome, number>>
}
