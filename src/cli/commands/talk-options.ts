import type { Option } from '../command.ts'

/** Which conversation is gone on with, and who answers: the same for a prompt and for a chat. */
export const talkOptions: Readonly<Record<string, Option>> = {
  continue: { short: 'c', value: '[id]', help: 'go on with a conversation, or from a message' },
  new: { short: 'n', help: 'start a new conversation' },
  incognito: { short: 'G', help: 'open nothing, keep nothing' },
  session: { value: '<name>', help: 'a named conversation (key cli:<name>)' },
  resume: { value: '<id>', help: 'go on with exactly this conversation' },
  model: { short: 'm', value: '<name>', help: 'model; skein config models lists them' },
  system: { value: '<text>', help: 'system prompt for this run' },
  force: { help: 'also a conversation of another directory' },
}
