/** Where a value comes from. The last of these that says something counts: defaults, the user's file, the project's
 *  file, the environment. Flags come after all of them, and belong to the command. */
export type ValueSource =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'environment'; readonly variable: string }

/** The section `conversation`. What is null is off. */
export interface ConversationSettings {
  readonly sessionExpirationMs: number
  readonly cleanupIntervalMs: number
  readonly tokenStrategy: 'sliding_window' | 'summarization'
  readonly maxTokens: number
  readonly keepRecentMessages: number
  readonly maxMessages: number | null
  readonly maxAgeMs: number | null
  readonly loadLimit: number | null
}

/** A program that is started and talked to over its standard streams. */
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

/** Everything that can be set, with what is so by default where nothing was. */
export interface Config {
  /** The model that is asked when none is named: a name or an alias. Null: the built-in one. */
  readonly model: string | null
  /** Aliases: a short name for `provider/model`. */
  readonly models: Readonly<Record<string, string>>
  readonly conversation: ConversationSettings
  /** By channel: for how long a conversation is continued by itself; null for ever. */
  readonly channels: Readonly<Record<string, { readonly expirationMs: number | null }>>
  /** By project: whether its tasks have conversations. */
  readonly projects: Readonly<Record<string, { readonly conversations: boolean }>>
  /** MCP servers by name. */
  readonly mcp: Readonly<Record<string, ProgramSettings | AddressSettings>>
  /** Agents by name: programs that speak ACP. */
  readonly agents: Readonly<Record<string, ProgramSettings>>
  /** By path, as in the file (`conversation.max_tokens`, `models.fast`): where a value comes from. What is not named
   *  here has its default. */
  readonly sources: Readonly<Record<string, ValueSource>>
  /** The files that were read, the weaker first. */
  readonly files: readonly string[]
  /** Files that were found and not read, with the reason. */
  readonly ignored: readonly string[]
}

export const conversationDefaults: ConversationSettings = {
  sessionExpirationMs: 24 * 3_600_000,
  cleanupIntervalMs: 3_600_000,
  tokenStrategy: 'sliding_window',
  maxTokens: 100_000,
  keepRecentMessages: 10,
  maxMessages: null,
  maxAgeMs: null,
  loadLimit: null,
}

/** What a name stands for: `provider/model` if it is an alias, itself if not. */
export function modelNamed(config: Pick<Config, 'models'>, name: string): string {
  return Object.hasOwn(config.models, name) ? config.models[name]! : name
}
