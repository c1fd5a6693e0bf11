import { collapseSpaces } from '../../../core/collapse-spaces.ts'
import { InvalidError, NotFoundError } from '../../../core/errors.ts'
import type { MessageId } from '../../../core/ids.ts'
import { lastPrompt } from '../../../core/last-prompt.ts'
import { type Message, textOf } from '../../../core/message.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { filesIn } from '../../attach/message-with.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { shortenId } from '../../output/short-id.ts'
import { formatAge } from '../../output/time.ts'
import { chooseFork, chooseNamed } from '../../target/choose-conversation.ts'
import { findNamed } from '../../target/find-named.ts'
import { newPicker } from '../input/picker.ts'
import { runPicker } from '../input/run-picker.ts'
import { attach } from '../state/attached-files.ts'
import { type Chat, type NextStep, nextLine } from '../state/chat-state.ts'
import { printHeader } from '../state/print-header.ts'
import { currentPosition, type SlashCommand } from './slash-command.ts'

/** Says how to return to the branch that a planned fork leaves. */
function sayKept(chat: Chat, from: string, what: string): void {
  const { style } = chat.context.err
  const name = style.safe(from)
  chat.say(`${what} is kept on ${style.branch(name)}: /switch ${name}`)
}

/** The files of a message go with its next version too. */
async function attachAgain(chat: Chat, { id }: Message): Promise<void> {
  const [whole] = (await chat.controller.store?.getMessages([id])) ?? []
  if (whole) attach(chat, filesIn(whole))
}

export const slashRetry: SlashCommand = {
  name: 'retry',
  help: 'answer your last message again, on a new branch',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    const prompt = await needPrompt(store, head)
    // A message without an answer gets its first one where it is.
    if (prompt.id === head) return { type: 'answer' }
    await forkAt(chat, prompt.id)
    sayKept(chat, branch.name, 'asking again. The answer so far')
    return { type: 'answer' }
  },
}

export const slashEdit: SlashCommand = {
  name: 'edit',
  help: 'change your last message, on a new branch',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    const prompt = await needPrompt(store, head)
    const text = wordsOf(prompt)
    if (!chat.keyboard) throw new UsageError('/edit needs a terminal', 'After /undo, send another message')
    await forkAt(chat, prompt.parentId)
    sayKept(chat, branch.name, 'your next message makes a new branch. This one')
    await attachAgain(chat, prompt)
    return { type: 'edit', text }
  },
}

export const slashUndo: SlashCommand = {
  name: 'undo',
  help: 'go back before your last message, which is kept',
  async run(chat) {
    const { store, head, branch } = await currentPosition(chat)
    await forkAt(chat, (await needPrompt(store, head)).parentId)
    sayKept(chat, branch.name, 'went back one message; the next one makes a new branch. The rest')
    return nextLine
  },
}

/** The number of prompts that `/fork` offers. */
const mostPrompts = 400

export const slashFork: SlashCommand = {
  name: 'fork',
  argument: '[id]',
  help: 'start a branch at a question or a message',
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
    await forkAt(chat, choice.value.parentId)
    sayKept(chat, branch.name, 'your next message makes a new branch. This one')
    await attachAgain(chat, choice.value)
    return { type: 'edit', text: textOf(choice.value) }
  },
  async complete(chat) {
    const { store, head } = await currentPosition(chat)
    const { messages } = head === null ? { messages: [] } : await store.tail(head, { messages: 50 })
    return messages
      .filter(({ role }) => role === 'user')
      .toReversed()
      .map(message => ({ text: shortenId(message.id), about: collapseSpaces(textOf(message)) }))
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
async function needPrompt(
  store: Pick<MessageReader, 'tail' | 'getMessages'>,
  head: MessageId | null,
): Promise<Message> {
  const { prompt } = await lastPrompt(store, head)
  if (!prompt) throw new InvalidError('conversation', 'you have said nothing on this branch yet')
  const [whole] = await store.getMessages([prompt.id])
  return whole!
}

/** Continues at a message, or before the first one. The branch is created with the next message; until then
 *  nothing changes. */
async function forkAt(chat: Chat, at: MessageId | null): Promise<void> {
  const { store, conversation, branch } = await currentPosition(chat)
  const from = { conversation, branch: await store.getBranch(branch) }
  await chat.controller.goTo(await chooseFork(store, from, at, { movesKey: true }))
}

/** The text of a prompt. Throws InvalidError if it consists of files only. */
function wordsOf(prompt: Message): string {
  const text = textOf(prompt)
  if (text.trim() === '') throw new InvalidError('message', 'your last message has no words')
  return text
}
