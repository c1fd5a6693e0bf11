import type { MessageId } from '../../core/ids.ts'
import { type NewMessage, textOf } from '../../core/message.ts'

/** The slash commands of an agent in a session. An agent finds a command only at the beginning of a prompt,
 *  and takes what follows as its arguments: a prompt that runs one is sent without the history that the agent
 *  lacks, and the next prompt has it. */
export interface SlashCommands {
  /** The agent has sent its list of commands. */
  announced(names: readonly string[]): void
  isRunBy(words: readonly NewMessage[]): boolean
  /** A command was run in this session without the history: the prompt followed `before`, its turn ended with
   *  `end`. */
  ranUntold(sessionId: string, before: MessageId | null, end: MessageId | null): void
  /** The end of the history that the session lacks before a prompt after `before`. The turns of commands
   *  after it are in the session. */
  untoldUpTo(sessionId: string | undefined, before: MessageId | null): MessageId | null
  /** Whether a prompt begins with the system prompt: the first one in a new session that runs no command. */
  needsSystem(sessionId: string, isFirst: boolean, words: readonly NewMessage[]): boolean
}

export function createSlashCommands(): SlashCommands {
  let names: ReadonlySet<string> = new Set()
  let untold: { sessionId: string; upTo: MessageId | null; end: MessageId | null } | null = null

  /** The session that has got commands only. */
  let withoutSystem: string | null = null

  function untoldUpTo(sessionId: string | undefined, before: MessageId | null): MessageId | null {
    // If others have written after the command, the history up to now is told, with the command in it.
    return untold && untold.sessionId === sessionId && untold.end === before ? untold.upTo : before
  }

  function isRunBy([first]: readonly NewMessage[]): boolean {
    const [, name] = /^\/(\S+)/.exec(first ? textOf(first) : '') ?? []
    return name !== undefined && names.has(name)
  }

  return {
    announced(list) {
      names = new Set(list)
    },
    isRunBy,
    ranUntold(sessionId, before, end) {
      untold = { sessionId, upTo: untoldUpTo(sessionId, before), end }
    },
    untoldUpTo,
    needsSystem(sessionId, isFirst, words) {
      const isDue = isFirst || withoutSystem === sessionId
      const isCommand = isRunBy(words)
      withoutSystem = isDue && isCommand ? sessionId : null
      return isDue && !isCommand
    },
  }
}
