import type { ToolResultPolicy } from '../core/conversation.ts'
import type { ModelOptions } from '../core/model.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { DiscordSettings } from './discord-settings.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { ServerSettings } from './server-settings.ts'
import type { SubagentSettings, ToolSettings } from './tool-settings.ts'

/** The source of a value. The last source with a value wins: defaults, the user's file, the project's file,
 *  the environment. Flags override all of them and belong to the command. */
export type ValueSource =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'environment'; readonly variable: string }
  /** A key that `skein config keys set` stored. */
  | { readonly kind: 'stored'; readonly file: string }

/** The section `conversation`. Null means off. */
export interface ConversationSettings {
  readonly sessionExpirationMs: number
  /** Whether a task's conversation expires that long after its last activity, or after its creation. */
  readonly expirationFrom: 'activity' | 'creation'
  readonly cleanupIntervalMs: number
  /** The folder for expired conversations of tasks, as it was given. */
  readonly archive: string | null
  readonly tokenStrategy: 'sliding_window' | 'summarization'
  /** Most tokens of a context, for any size of window. */
  readonly maxTokens: number | null
  readonly keepRecentMessages: number
  readonly maxMessages: number | null
  readonly maxAgeMs: number | null
  readonly loadLimit: number | null
  /** How new conversations store tool results. */
  readonly toolResults: ToolResultPolicy
}

/** A program that is started and used over its standard streams. */
export interface ProgramSettings {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server at an address. */
export interface AddressSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** The settings of one model, by `models.<name>`. */
export interface ModelSettings {
  /** Its window in tokens, instead of the known one. */
  readonly window: number | null
  readonly options: ModelOptions
  readonly price: PriceSettings | null
}

/** In dollars per million tokens. */
export interface PriceSettings {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** All settings. A setting that was not given has its default. */
export interface Config {
  /** The default model: a name or an alias. Null: the built-in model. */
  readonly model: string | null
  /** Aliases: a short name for `provider/model`. */
  readonly models: Readonly<Record<string, string>>
  /** Settings of models, by a name or an alias. */
  readonly modelSettings: Readonly<Record<string, ModelSettings>>
  /** Keys and addresses of providers, from the user's own files. Variables override them. */
  readonly providers: Readonly<Record<string, ProviderSettings>>
  /** The options of every model call, unless a model has its own. */
  readonly options: ModelOptions
  readonly conversation: ConversationSettings
  /** By channel: how long a conversation is continued automatically; null means without a limit. */
  readonly channels: Readonly<Record<string, { readonly expirationMs: number | null }>>
  /** By project: whether its tasks have conversations. */
  readonly projects: Readonly<Record<string, { readonly conversations: boolean }>>
  /** MCP servers by name. */
  readonly mcp: Readonly<Record<string, ProgramSettings | AddressSettings>>
  /** Agents by name: programs that use ACP, and agents of ours. */
  readonly agents: Readonly<Record<string, AgentSettings>>
  /** How agents of other programs get their memory. */
  readonly acp: AcpSettings
  /** What the command's own agent may use. */
  readonly tools: ToolSettings
  /** The HTTP service. */
  readonly server: ServerSettings
  /** The Discord bot. */
  readonly discord: DiscordSettings
  /** Subagents by name. */
  readonly subagents: Readonly<Record<string, SubagentSettings>>
  /** The source of a value, by its path in the file (`conversation.max_tokens`, `models.fast`). A setting
   *  without an entry has its default. */
  readonly sources: Readonly<Record<string, ValueSource>>
  /** The files that were read, in ascending order of precedence. */
  readonly files: readonly string[]
  /** Files that were found and not read, with the reason. */
  readonly ignored: readonly string[]
  /** Members of `mcp` and `agents` in the project's file that are not used: the user's own file has one of
   *  the same name. */
  readonly shadowed: readonly ShadowedMember[]
}

/** A member of the project's file that is not used, such as `mcp.files`. */
export interface ShadowedMember {
  readonly path: string
  readonly file: string
  readonly line: number
}

/** The section `acp`: how agents of other programs get their memory. */
export interface AcpSettings {
  /** Most tokens of a conversation that an agent is told. */
  readonly tell: number
  /** Whether summaries are made for the next agent. */
  readonly summarize: boolean
  /** Whether an agent that is told a conversation gets `skein mcp` to read it. */
  readonly recall: boolean
}

export const acpDefaults: AcpSettings = { tell: 24_000, summarize: false, recall: true }

export const conversationDefaults: ConversationSettings = {
  sessionExpirationMs: 24 * 3_600_000,
  expirationFrom: 'activity',
  cleanupIntervalMs: 3_600_000,
  archive: null,
  tokenStrategy: 'sliding_window',
  maxTokens: null,
  keepRecentMessages: 10,
  maxMessages: null,
  maxAgeMs: null,
  loadLimit: null,
  toolResults: 'full',
}

/** Resolves a name: an alias becomes its `provider/model`, any other name stays as it is. */
export function modelNamed(config: Pick<Config, 'models'>, name: string): string {
  return Object.hasOwn(config.models, name) ? config.models[name]! : name
}
