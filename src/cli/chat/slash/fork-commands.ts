import type { BranchRef } from '../../../core/branch.ts'
import { InvalidError, NotFoundError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import { contentOf, type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { collapseSpaces } from '../../output/cut.ts'
import { plural } from '../../output/number.ts'
import { shortenId } from '../../output/short-id.ts'
import { formatAge } from '../../output/time.ts'
import { chooseNamed } from '../../target/choose-conversation.ts'
import { findNamed } from '../../target/find-named.ts'
import { moveKey } from '../../target/move-key.ts'
import { createSiblingBranch } from '../../target/planned-fork.ts'
import { newPicker } from '../input/picker.ts'
import { runPicker } from '../input/run-picker.ts'
import { type Chat, type NextStep, nextLine } from '../state/chat-state.ts'
import { printHeader } from '../state/print-header.ts'
import { currentPosition, type SlashCommand } from './slash-command.ts'

/** Prints the new branch, and how to return to the old one. */
async function sayKept(chat: Chat, from: string, what: string): Promise<void> {
  const { branch } = await currentPosition(chat)
  const { style } = chat.context.err
  const [now, before] = [style.branch(style.safe(branch.name)), style.safe(from)]
  chat.say(`${what} ${now}. What was said is kept on ${style.branch(before)}: /switch ${before}`)
}

/** An input line holds text only, so attached files are left out. */
function noteFiles(chat: Chat, { content: blocks }: Message): void {
  const files = blocks.filter(({ type }) => type !== 'text').length
  if (files > 0) chat.note(`${plural(files, 'file')} went with it, and do not come along`)
}

export const slashRetry: SlashCommand = {
  name: 'retry',
  help: 'ask the last question again, on a new branch',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    const prompt = await lastPrompt(store, head)
    await goBackBefore(chat, prompt)
    await sayKept(chat, branch.name, 'asking again on')
    return { type: 'send', words: { role: 'user', content: contentOf(prompt) } }
  },
}

export const slashEdit: SlashCommand = {
  name: 'edit',
  help: 'change the last question, on a new branch',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    const prompt = await lastPrompt(store, head)
    const text = wordsOf(prompt)
    if (!chat.keyboard) throw new UsageError('/edit needs a terminal', 'Say it anew after /undo')
    await goBackBefore(chat, prompt)
    await sayKept(chat, branch.name, 'editing on')
    noteFiles(chat, prompt)
    return { type: 'edit', text }
  },
}

export const slashUndo: SlashCommand = {
  name: 'undo',
  help: 'go back before the last question, which stays',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    await goBackBefore(chat, await lastPrompt(store, head))
    await sayKept(chat, branch.name, 'went back one question, now on')
    return nextLine
  },
}

/** The number of prompts that `/fork` offers. */
const mostPrompts = 400

export const slashFork: SlashCommand = {
  name: 'fork',
  argument: '[id]',
  help: 'go another way from a question or a message',
  async run(chat, id) {
    if (id !== '') return forkAtId(chat, id)
    if (!chat.keyboard) throw new UsageError('/fork needs an id here', '/history shows them')
    const { store, head, branch } = await currentPosition(chat)
    const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: mostPrompts })
    const prompts = messages.filter(message => message.role === 'user' && textOf(message).trim() !== '')
    const now = chat.context.now()
    const picker = newPicker({
      question: 'Which message do you want to rewrite?',
      choices: prompts.toReversed().map(message => ({
        value: message,
        title: collapseSpaces(textOf(message)),
        facts: [formatAge(message.createdAt, now), shortenId(message.id)],
        alsoFinds: [message.id],
        details: [],
      })),
      scope: branch.name,
      keys: 'enter put it back for editing · esc go back',
      ends: [],
    })
    const { by, choice } = await runPicker(picker, chat.keyboard, chat.context.err)
    if (by !== 'enter' || !choice) return nextLine
    await goBackBefore(chat, choice.value)
    await sayKept(chat, branch.name, 'forked as')
    noteFiles(chat, choice.value)
    return { type: 'edit', text: textOf(choice.value) }
  },
  async complete(chat) {
    const { store, head } = await currentPosition(chat)
    const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 50 })
    return messages.filter(({ role }) => role === 'user').map(({ id }) => shortenId(id))
  },
}

async function forkAtId(chat: Chat, id: string): Promise<NextStep> {
  const { context, controller } = chat
  const store = controller.store!
  const found = await findNamed(id, store, context)
  if (!found) throw new NotFoundError('id', id)
  const message = found.message ?? found.branch.head
  if (message === null) throw new NotFoundError('message', id)
  const chosen = await chooseNamed(id, { ...found, message }, { force: false }, store, context)
  await controller.goTo(chosen)
  printHeader(chosen, context)
  return nextLine
}

/** The user's last message on the path. Throws InvalidError if there is none. */
async function lastPrompt(store: Pick<MessageReader, 'tail'>, head: MessageId | null): Promise<Message> {
  const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 1 })
  const prompt = messages.findLast(message => message.role === 'user')
  if (!prompt) throw new InvalidError('conversation', 'you have said nothing on this branch yet')
  return prompt
}

/** Continues before a message, on a new branch; the old branch is unchanged. A key moves to the new branch,
 *  so that the next chat with this key continues there. */
async function goBackBefore(chat: Chat, prompt: Message): Promise<BranchRef> {
  const { store, conversation, branch } = await currentPosition(chat)
  const from = await store.getBranch(branch).catch(() => null)
  const made = await createSiblingBranch(store, conversation.id, prompt.parentId, branch.name)
  await store.activateBranch(made)
  if (from?.key) await moveKey(store, from.key, made)
  chat.controller.goToBranch(made)
  return made
}

/** The text of a prompt. Throws InvalidError if it consists of files only. */
function wordsOf(prompt: Message): string {
  const text = textOf(prompt)
  if (text.trim() === '') throw new InvalidError('message', 'your last message has no words')
  return text
}
