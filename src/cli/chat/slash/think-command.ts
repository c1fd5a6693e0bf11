import { isKnown } from '../../../core/block.ts'
import { lastPrompt } from '../../../core/last-prompt.ts'
import type { Message } from '../../../core/message.ts'
import { proseWidth, wrap } from '../../output/wrap.ts'
import type { Chat } from '../state/chat-state.ts'
import { nextLine } from '../state/chat-state.ts'
import type { SlashCommand } from './slash-command.ts'

/** `/think`: the thinking of the last answer. */
export const slashThink: SlashCommand = {
  name: 'think',
  needs: 'nothing',
  help: 'what the model thought before its last answer',
  async run(chat) {
    const { out } = chat.context
    const text = await lastThinking(chat)
    if (text === '') chat.note('the last answer came without thinking that can be shown')
    const { style } = out
    for (const line of text === '' ? [] : wrap(style.safe(text), Math.min(out.width, proseWidth) - 1))
      out.line(style.faint(line))
    return nextLine
  },
}

/** From the store, so that it also works after a restart; without a store, from this run. */
async function lastThinking({ controller }: Chat): Promise<string> {
  const position = await controller.position()
  if (!position?.head || !controller.store) return controller.thinking.trim()
  const { after } = await lastPrompt(controller.store, position.head)
  return after.map(thinkingOf).filter(Boolean).join('\n\n')
}

function thinkingOf({ content }: Message): string {
  const thoughts = content.flatMap(block => (isKnown(block) && block.type === 'thinking' ? [block.text] : []))
  return thoughts.join('\n\n').trim()
}
