import type { MediaBlock } from '../../../core/block.ts'
import type { NewMessage } from '../../../core/message.ts'
import type { SavingNotes } from '../../answer/saving-notes.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import type { InputHistory } from '../input/input-history.ts'
import type { Keyboard } from '../input/keyboard.ts'
import type { ChatController } from './chat-controller.ts'
import type { SeenEnd } from './others-words.ts'

/** A running chat, as `/` commands see it. */
export interface Chat {
  readonly context: CommandContext
  readonly controller: ChatController
  /** Null if lines come from a pipe, so that the user cannot be asked. */
  readonly keyboard: Keyboard | null
  readonly history: InputHistory
  /** The name after `--session`, which `/new` keeps; null without the flag. */
  readonly name: string | null
  /** The end of the branch that the user has seen; null before the first prompt. */
  seen: SeenEnd | null
  /** Files that go with the next message. */
  attached: readonly MediaBlock[]
  /** True after the first message of this run. */
  hasSpoken: boolean
  /** The text of the last answer of this run. */
  lastText: string
  /** Says that messages wait for the store, and that they are stored. */
  readonly saving: SavingNotes
  /** Notes that arrived while a line was being typed. They are printed above the prompt. */
  readonly later: string[]
  /** Prints a line to stderr. */
  say(line: string): void
  /** Prints `! text` to stderr. */
  note(text: string): void
}

/** What happens after a `/` command. */
export type NextStep =
  | { readonly type: 'ask' }
  /** The next input starts with this text. */
  | { readonly type: 'edit'; readonly text: string }
  /** This message is sent. */
  | { readonly type: 'send'; readonly words: string | NewMessage }
  /** The last message is answered. */
  | { readonly type: 'answer' }
  | { readonly type: 'leave' }

export const nextLine: NextStep = { type: 'ask' }
