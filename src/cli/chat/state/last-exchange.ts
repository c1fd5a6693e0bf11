import { answerEnding } from '../../../api/answer-ending.ts'
import type { MessageId } from '../../../core/ids.ts'
import { lastPrompt } from '../../../core/last-prompt.ts'
import { type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { hasFence, markdownTree } from '../../../render/markdown-tree.ts'
import { drawMarkdown } from '../../output/draw-markdown.ts'
import { paintRow } from '../../output/drawn-row.ts'
import { endingWords } from '../../output/ending-words.ts'
import { loadHighlighter } from '../../output/load-highlighter.ts'
import type { Output } from '../../output/output.ts'
import { noteLine } from '../../output/print.ts'
import type { Style } from '../../output/style.ts'
import { proseWidth, wrap } from '../../output/wrap.ts'
import type { Chat } from './chat-state.ts'
import { pendingText } from './pending-turn.ts'

const most = { asked: 3, answered: 8 } as const

/** The last question in bold and the end of its answer as it was shown, in at most 13 lines. */
async function lastExchange(
  reader: Pick<MessageReader, 'tail'>,
  head: MessageId,
  output: Output,
): Promise<readonly string[]> {
  const { style, width } = output
  const { prompt: question, after } = await lastPrompt(reader, head)
  const answer = after.findLast(message => message.role === 'assistant' && textOf(message).trim() !== '')
  const room = Math.min(width, proseWidth) - 1
  const { dots, prompt } = style.symbols
  const asked = question ? wrap(style.safe(textOf(question).trim()), room - 2) : []
  const answered = answer ? await answerRows(textOf(answer).trim(), room, style) : []
  return [
    ...asked.slice(0, most.asked).map((line, i) => {
      const isCut = i === most.asked - 1 && asked.length > most.asked
      return style.title(`${i === 0 ? `${prompt} ` : '  '}${line}${isCut ? ` ${dots}` : ''}`)
    }),
    ...(asked.length > 0 && answered.length > 0 ? [''] : []),
    ...(answered.length > most.answered ? [style.faint(dots)] : []),
    ...answered.slice(-most.answered),
    ...(answer ? endingLines(answer, output) : []),
  ]
}

async function answerRows(text: string, width: number, style: Style): Promise<readonly string[]> {
  const highlight = style.colour && hasFence(text) ? await loadHighlighter() : null
  return drawMarkdown(markdownTree(text), { style, width, highlight }).map(row => paintRow(row))
}

/** `! interrupted: press Enter to continue it`, under an answer that is not whole. */
function endingLines(answer: Message, output: Output): readonly string[] {
  const ending = answerEnding(answer)
  if (ending === null) return []
  const canResume = ending === 'interrupted' || ending === 'failed'
  const how = canResume ? `: ${pendingText({ what: 'answer', message: answer.id })}` : ''
  return [noteLine(`${endingWords[ending]}${how}`, output)]
}

/** Prints the last exchange of a conversation that is resumed. */
export async function printLastExchange({ controller, context }: Chat): Promise<void> {
  const position = await controller.position()
  if (!position?.head || !controller.store || context.quiet) return
  context.err.line()
  for (const line of await lastExchange(controller.store, position.head, context.err)) context.err.line(line)
}
