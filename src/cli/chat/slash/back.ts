import type { BranchRef } from '../../../core/branch.ts'
import { InvalidError, NotFoundError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import { contentOf, type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { folded } from '../../output/cut.ts'
import { plural } from '../../output/number.ts'
import { shortened } from '../../output/short-id.ts'
import { age } from '../../output/time.ts'
import { goOnWith } from '../../target/choose-conversation.ts'
import { findNamed } from '../../target/find-named.ts'
import { moveKey } from '../../target/move-key.ts'
import { branchAt } from '../../target/planned-fork.ts'
import { pick } from '../input/pick.ts'
import { newPicker } from '../input/picker.ts'
import { ask, type Chat, type Next } from '../state/chat-state.ts'
import { sayHeader } from '../state/say-header.ts'
import { here, type SlashCommand } from './slash-command.ts'

/** Says where the old way is, whenever a chat goes another one. */
async function sayKept(chat: Chat, from: string, what: string): Promise<void> {
  const { branch } = await here(chat)
  const { style } = chat.world.err
  const [now, before] = [style.branch(style.safe(branch.name)), style.safe(from)]
  chat.say(`${what} ${now}. What was said is kept on ${style.branch(before)}: /switch ${before}`)
}

/** A line can hold words only. */
function noteFiles(chat: Chat, { blocks }: Message): void {
  const files = blocks.filter(({ type }) => type !== 'text').length
  if (files > 0) chat.note(`${plural(files, 'file')} went with it, and do not come along`)
}

export const retry: SlashCommand = {
  name: 'retry',
  help: 'ask the last question again, on a new branch',
  async run(chat) {
    const { store, head, branch } = await here(chat)
    const prompt = await lastPrompt(store, head)
    await goBackBefore(chat, prompt)
    await sayKept(chat, branch.name, 'asking again on')
    return { type: 'send', words: { role: 'user', blocks: contentOf(prompt) } }
  },
}

export const edit: SlashCommand = {
  name: 'edit',
  help: 'change the last question, on a new branch',
  async run(chat) {
    const { store, head, branch } = await here(chat)
    const prompt = await lastPrompt(store, head)
    const text = wordsOf(prompt)
    if (!chat.keyboard) throw new UsageError('/edit needs a terminal', 'Say it anew after /undo')
    await goBackBefore(chat, prompt)
    await sayKept(chat, branch.name, 'editing on')
    noteFiles(chat, prompt)
    return { type: 'edit', text }
  },
}

export const undo: SlashCommand = {
  name: 'undo',
  help: 'go back before the last question, which stays',
  async run(chat) {
    const { store, head, branch } = await here(chat)
    await goBackBefore(chat, await lastPrompt(store, head))
    await sayKept(chat, branch.name, 'went back one question, now on')
    return ask
  },
}

/** How many prompts `/fork` offers. */
const mostPrompts = 400

export const fork: SlashCommand = {
  name: 'fork',
  argument: '[id]',
  help: 'go another way from a question or a message',
  async run(chat, id) {
    if (id !== '') return forkAtId(chat, id)
    if (!chat.keyboard) throw new UsageError('/fork needs an id here', '/history shows them')
    const { store, head, branch } = await here(chat)
    const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: mostPrompts })
    const prompts = messages.filter(message => message.role === 'user' && textOf(message).trim() !== '')
    const now = chat.world.now()
    const picker = newPicker({
      question: 'Say which one anew?',
      choices: prompts.toReversed().map(message => ({
        value: message,
        title: folded(textOf(message)),
        facts: [age(message.createdAt, now), shortened(message.id)],
        alsoFinds: [message.id],
        details: [],
      })),
      scope: branch.name,
      keys: 'enter put it back for editing · esc go back',
      ends: [],
    })
    const { by, choice } = await pick(picker, chat.keyboard, chat.world.err)
    if (by !== 'enter' || !choice) return ask
    await goBackBefore(chat, choice.value)
    await sayKept(chat, branch.name, 'forked as')
    noteFiles(chat, choice.value)
    return { type: 'edit', text: textOf(choice.value) }
  },
  async complete(chat) {
    const { store, head } = await here(chat)
    const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 50 })
    return messages.filter(({ role }) => role === 'user').map(({ id }) => shortened(id))
  },
}

async function forkAtId(chat: Chat, id: string): Promise<Next> {
  const { world, talker } = chat
  const store = talker.store!
  const found = await findNamed(id, store, world)
  if (!found) throw new NotFoundError('id', id)
  const message = found.message ?? found.branch.head
  if (message === null) throw new NotFoundError('message', id)
  const chosen = await goOnWith(id, { ...found, message }, { force: false }, store, world)
  talker.goTo(chosen)
  sayHeader(chosen, world)
  return ask
}

/** The person's last message on the path. Throws InvalidError if there is none. */
async function lastPrompt(store: Pick<MessageReader, 'tail'>, head: MessageId | null): Promise<Message> {
  const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 1 })
  const prompt = messages.findLast(message => message.role === 'user')
  if (!prompt) throw new InvalidError('conversation', 'you have said nothing on this branch yet')
  return prompt
}

/** Goes back before a message, on a branch of its own: what was said stays on the old one. A key moves along, so that
 *  whoever comes back by it finds the chat where it was left. */
async function goBackBefore(chat: Chat, prompt: Message): Promise<BranchRef> {
  const { store, conversation, branch } = await here(chat)
  const from = await store.getBranch(branch).catch(() => null)
  const made = await branchAt(store, conversation.id, prompt.parentId, branch.name)
  await store.activateBranch(made)
  if (from?.key) await moveKey(store, from.key, made)
  chat.talker.goToBranch(made)
  return made
}

/** What a person wrote, to be written again. Throws InvalidError for words that are only a file. */
function wordsOf(prompt: Message): string {
  const text = textOf(prompt)
  if (text.trim() === '') throw new InvalidError('message', 'your last message has no words')
  return text
}
