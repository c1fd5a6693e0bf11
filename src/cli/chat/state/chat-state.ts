import type { NewMessage } from '../../../core/message.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import type { InputHistory } from '../input/input-history.ts'
import type { Keyboard } from '../input/keyboard.ts'
import type { ChatController } from './chat-controller.ts'

/** A chat that is going on: what `/` commands see of it. */
export interface Chat {
  readonly context: CommandContext
  readonly controller: ChatController
  /** Null where nobody can be asked: lines come from a pipe. */
  readonly keyboard: Keyboard | null
  readonly history: InputHistory
  /** The name after `--session`, if there was one: `/new` stays under it. */
  readonly name: string | null
  /** Notes that came up while a line was being typed: shown before the next one. */
  readonly later: string[]
  /** A line about what was done, on stderr. */
  say(line: string): void
  /** `! something to know`. */
  note(text: string): void
}

/** What follows a `/` command. */
export type NextStep =
  | { readonly type: 'ask' }
  /** The next line begins with these words. */
  | { readonly type: 'edit'; readonly text: string }
  /** These words are said. */
  | { readonly type: 'send'; readonly words: string | NewMessage }
  | { readonly type: 'leave' }

export const nextLine: NextStep = { type: 'ask' }
