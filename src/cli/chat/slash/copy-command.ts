import { spawn } from 'node:child_process'
import { lastPrompt } from '../../../core/last-prompt.ts'
import { textOf } from '../../../core/message.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { formatBytes, plural } from '../../output/number.ts'
import type { Output } from '../../output/output.ts'
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

/** Most bytes that terminals take: xterm drops longer sequences. */
const maxClipboardBytes = 74_000

/** Puts a text on the clipboard of the terminal (OSC 52), which also works over SSH. tmux ignores the
 *  sequence by default, so it is asked by its own command. */
async function copyText(
  text: string,
  output: Output,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (env.TMUX && (await givenToTmux(text))) return
  output.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`)
}

/** True if tmux has taken the text: its buffer, and the clipboard of the terminal around it. */
function givenToTmux(text: string): Promise<boolean> {
  return new Promise(resolve => {
    const child = spawn('tmux', ['load-buffer', '-w', '-'], { stdio: ['pipe', 'ignore', 'ignore'] })
    child.on('error', () => resolve(false))
    child.on('close', code => resolve(code === 0))
    child.stdin.on('error', () => undefined)
    child.stdin.end(text)
  })
}
