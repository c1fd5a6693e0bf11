import { lastPrompt } from '../../../core/last-prompt.ts'
import { textOf } from '../../../core/message.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { copyText, maxClipboardBytes } from '../../output/clipboard.ts'
import { formatBytes, plural } from '../../output/number.ts'
import { lastCodeIn } from '../../read/last-code.ts'
import { type Chat, nextLine } from '../state/chat-state.ts'
import type { SlashCommand } from './slash-command.ts'

/** `/copy`: the last answer, or its last code block, on the clipboard. */
export const slashCopy: SlashCommand = {
  name: 'copy',
  argument: '[code]',
  needs: 'nothing',
  help: 'copy the last answer, or its last code block, to the clipboard of the terminal',
  async run(chat, what) {
    if (what !== '' && what !== 'code')
      throw new UsageError(
        `/copy copies the last answer; not "${what}"`,
        '/copy code copies its last code block',
      )
    if (!chat.keyboard)
      throw new UsageError('/copy needs a terminal', 'skein show -x prints the last code block')
    const answer = await lastAnswer(chat)
    if (answer === '') throw new UsageError('there is no answer to copy yet')
    const text = what === 'code' ? lastCodeIn(answer) : answer
    if (text === null) throw new UsageError('the last answer has no code block', '/copy copies all of it')
    const size = Buffer.byteLength(text)
    if (size > maxClipboardBytes)
      throw new UsageError(
        `${formatBytes(size)} is too long for the clipboard of a terminal`,
        '/export writes a file',
      )
    await copyText(text, chat.context.err, chat.context.env)
    chat.say(`copied ${plural(text.replace(/\n$/, '').split('\n').length, 'line')} to the clipboard`)
    return nextLine
  },
  complete: async () => ['code'],
}

/** The text of the last answer: from the store, or without one, from this run. */
async function lastAnswer({ controller, lastText }: Chat): Promise<string> {
  const position = await controller.position()
  if (!position?.head || !controller.store) return lastText.trim()
  const { after } = await lastPrompt(controller.store, position.head)
  const answer = after.findLast(message => message.role === 'assistant' && textOf(message).trim() !== '')
  const [whole] = answer ? await controller.store.getMessages([answer.id]) : []
  return whole ? textOf(whole).trim() : ''
}
