import { windowOf } from '../../../context/fit/model-windows.ts'
import { summarize } from '../../../context/summary/summarize.ts'
import { systemRecorderSource } from '../../../system/source.ts'
import { summaryText } from '../../answer/answer-notes.ts'
import { modelName } from '../../output/model-name.ts'
import { waitingLine } from '../../output/waiting-line.ts'
import { exportCommand } from '../../transfer/export.ts'
import { ask, type Chat, type Next } from '../state/chat-state.ts'
import { here, type SlashCommand } from './slash-command.ts'

export const title: SlashCommand = {
  name: 'title',
  argument: '[words]',
  help: 'show or change the title',
  async run(chat, words) {
    const { store, conversation } = await here(chat)
    const { style } = chat.world.err
    if (words === '') {
      chat.world.out.line(chat.world.out.style.safe(conversation.title ?? 'without a title'))
      return ask
    }
    const changed = await store.updateConversation(conversation.id, { title: words.replace(/\s+/g, ' ') })
    chat.say(`the title is "${style.title(style.safe(changed.title ?? ''))}" now`)
    return ask
  },
}

export const exportHere: SlashCommand = {
  name: 'export',
  argument: '[file]',
  help: 'write it as Markdown, or as a page (.html)',
  async run(chat, file) {
    const { conversation, branch } = await here(chat)
    const html = file.endsWith('.html') ? { html: true as const } : {}
    await exportCommand(
      { arguments: [`${conversation.id}:${branch.name}`], options: { output: file || '.', ...html } },
      chat.world,
    )
    return ask
  },
}

export const model: SlashCommand = {
  name: 'model',
  argument: '[name]',
  needs: 'nothing',
  ofModels: true,
  help: 'show or change the model',
  async run(chat, name) {
    const { talker, world } = chat
    const { style } = world.err
    if (name === '') {
      world.out.line(world.out.style.safe(talker.model.id))
      return ask
    }
    await talker.useModel(name)
    chat.say(`${style.safe(modelName(talker.model.id))} answers from here on`)
    return ask
  },
}

export const compact: SlashCommand = {
  name: 'compact',
  argument: '[what to mind]',
  ofModels: true,
  help: 'let a summary stand for what is old; all is kept',
  async run(chat, instructions) {
    const { store, conversation, head } = await here(chat)
    const { talker } = chat
    if (head === null) return nothingOld(chat.say)
    const made = await untilStopped(chat, 'summary', signal =>
      summarize(
        store,
        { conversationId: conversation.id, head },
        {
          model: talker.model,
          window: { limit: windowOf(talker.model.id).limit },
          holder: systemRecorderSource.holder(),
          after: systemRecorderSource.after,
          signal,
          ...(instructions === '' ? {} : { instructions }),
        },
      ),
    )
    if (made === null) return ask
    const { outcome, summary, messages, error } = made
    if (outcome === 'busy') chat.note('somebody else is making a summary here. Try again in a moment')
    else if (messages === 0 || summary === null) return nothingOld(chat.say)
    else chat.say(`${summaryText(messages, summary.tokens, outcome)} /context`)
    if (outcome === 'extractive' && error instanceof Error) chat.note(`the model failed: ${error.message}`)
    return ask
  },
}

function nothingOld(say: (line: string) => void): Next {
  say('nothing is old enough for a summary: the newest messages stay word for word')
  return ask
}

/** Does something that takes a while, until it is done or Ctrl+C stops it: then null, and the person is told. */
async function untilStopped<T>(
  chat: Chat,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const { world, keyboard } = chat
  const stop = new AbortController()
  const waiting = waitingLine(world)
  const stopListening = keyboard?.onInterrupt(() => stop.abort(new DOMException('interrupted', 'AbortError')))
  waiting.start(what)
  try {
    return await work(AbortSignal.any([world.signal, stop.signal]))
  } catch (error) {
    if (!stop.signal.aborted) throw error
    waiting.stop()
    chat.note('stopped: nothing was changed')
    return null
  } finally {
    waiting.stop()
    stopListening?.()
  }
}
