import { summarize } from '../../../context/summary/summarize.ts'
import { summaryText } from '../../answer/answer-notes.ts'
import { exportCommand } from '../../transfer/export.ts'
import { type NextStep, nextLine } from '../state/chat-state.ts'
import { currentPosition, type SlashCommand, untilStopped } from './slash-command.ts'

export const slashTitle: SlashCommand = {
  name: 'title',
  argument: '[words]',
  help: 'show or change the title',
  async run(chat, words) {
    const { store, conversation } = await currentPosition(chat)
    const { style } = chat.context.err
    if (words === '') {
      chat.context.out.line(chat.context.out.style.safe(conversation.title ?? 'without a title'))
      return nextLine
    }
    const changed = await store.updateConversation(conversation.id, { title: words.replace(/\s+/g, ' ') })
    chat.say(`the title is "${style.title(style.safe(changed.title ?? ''))}" now`)
    return nextLine
  },
}

export const slashExport: SlashCommand = {
  name: 'export',
  argument: '[file]',
  help: 'write it as Markdown, or as a page (.html)',
  async run(chat, file) {
    const { conversation, branch, head, isPlanned } = await currentPosition(chat)
    const exported = isPlanned && head !== null ? head : `${conversation.id}:${branch.name}`
    const html = file.endsWith('.html') ? { html: true as const } : {}
    await exportCommand({ arguments: [exported], options: { output: file || '.', ...html } }, chat.context)
    return nextLine
  },
}

export const slashCompact: SlashCommand = {
  name: 'compact',
  argument: '[what to mind]',
  of: 'our model',
  help: 'replace old messages by a summary in model calls; all are kept',
  async run(chat, instructions) {
    const { store, conversation, head } = await currentPosition(chat)
    const { controller } = chat
    if (head === null) return nothingOld(chat.say)
    const made = await untilStopped(chat, 'summary', signal =>
      summarize(
        store,
        { conversationId: conversation.id, head },
        {
          model: controller.model,
          window: { limit: controller.window },
          signal,
          ...(instructions === '' ? {} : { instructions }),
        },
      ),
    )
    if (made === null) return nextLine
    const { outcome, summary, messages, error } = made
    if (outcome === 'busy') chat.note('another process is making a summary here. Try again in a moment')
    else if (messages === 0 || summary === null) return nothingOld(chat.say)
    else chat.say(`${summaryText(messages, summary.tokens, outcome)} /context`)
    if (outcome === 'extractive' && error instanceof Error) chat.note(`the model failed: ${error.message}`)
    return nextLine
  },
}

function nothingOld(say: (line: string) => void): NextStep {
  say('nothing to summarise yet: the newest messages are never summarised')
  return nextLine
}
