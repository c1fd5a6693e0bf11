import { readBranches } from '../../../api/read-branches.ts'
import { branchNames } from '../../../core/branch-names.ts'
import { NotFoundError } from '../../../core/errors.ts'
import { gistOf } from '../../../core/gist.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { plural } from '../../output/number.ts'
import { shortenId } from '../../output/short-id.ts'
import { formatAge } from '../../output/time.ts'
import { skeinCommand } from '../../store/skein-command.ts'
import { type ChosenConversation, chooseConversation, chooseNamed } from '../../target/choose-conversation.ts'
import { findNamed } from '../../target/find-named.ts'
import { projectDirectories } from '../../target/scope.ts'
import { newPicker } from '../input/picker.ts'
import { readLine } from '../input/read-line.ts'
import { runPicker } from '../input/run-picker.ts'
import type { ChatStore } from '../state/chat-controller.ts'
import { type Chat, type NextStep, nextLine } from '../state/chat-state.ts'
import { printLastExchange } from '../state/last-exchange.ts'
import { pickConversation } from '../state/pick-conversation.ts'
import { printHeader } from '../state/print-header.ts'
import { currentPosition, type SlashCommand } from './slash-command.ts'

async function startNew(chat: Chat): Promise<NextStep> {
  const { context, controller, name } = chat
  const wish = controller.store === null ? { incognito: true as const } : { new: true as const }
  const options = { ...wish, ...(name === null ? {} : { session: name }) }
  const chosen = await chooseConversation({ arguments: [], options }, context)
  await controller.goTo(chosen)
  printHeader(chosen, context)
  return nextLine
}

export const slashNew: SlashCommand = {
  name: 'new',
  needs: 'nothing',
  help: 'start a new conversation; this one stays',
  run: startNew,
}

export const slashClear: SlashCommand = {
  name: 'clear',
  argument: '[--yes]',
  help: 'move this one to the trash, and start a new one',
  async run(chat, argument) {
    const { store, conversation } = await currentPosition(chat)
    const branches = await branchNames(store, conversation.id)
    const what = `${plural(conversation.messages, 'message')} on ${plural(branches.size, 'branch', 'branches')}`
    if (argument !== '--yes' && !(await isSure(chat, what))) {
      chat.say('nothing was changed')
      return nextLine
    }
    await store.trash(conversation.id)
    chat.say(
      `moved to trash: ${what}. Undo: ${skeinCommand(chat.context)} restore ${shortenId(conversation.id)}`,
    )
    return startNew(chat)
  },
}

async function isSure(chat: Chat, what: string): Promise<boolean> {
  if (!chat.keyboard) throw new UsageError('/clear deletes, so it needs --yes here', '/new keeps everything')
  const { err } = chat.context
  err.line(`move ${what} to trash? y/N   (/new starts a new conversation and keeps this one)`)
  const read = await readLine({ keyboard: chat.keyboard, output: err })
  return read.type === 'line' && /^\s*y(es)?\s*$/i.test(read.text)
}

export const slashSwitch: SlashCommand = {
  name: 'switch',
  argument: '[branch]',
  help: 'continue another branch of this conversation',
  async run(chat, name) {
    const { store, conversation } = await currentPosition(chat)
    const target = name === '' ? await pickBranch(chat) : name
    if (target === null) return nextLine
    const branch = await store.getBranch({ conversationId: conversation.id, name: target })
    await store.activateBranch(branch)
    chat.controller.goToBranch(branch)
    const { style } = chat.context.err
    chat.say(`now on ${style.branch(style.safe(branch.name))}`)
    if (chat.keyboard) await printLastExchange(chat)
    return nextLine
  },
  async complete(chat) {
    const { store, conversation } = await currentPosition(chat)
    return [...(await branchNames(store, conversation.id))]
  },
}

async function pickBranch(chat: Chat): Promise<string | null> {
  const { keyboard, context } = chat
  if (!keyboard) throw new UsageError('/switch needs a branch here', 'skein branches lists them')
  const { store, conversation, branch: current, isPlanned } = await currentPosition(chat)
  const newestFirst = (await readBranches(store, conversation.id)).toReversed()
  const picker = newPicker({
    question: 'Continue which branch?',
    choices: newestFirst.map(({ info, head, own, prompt }) => {
      const last = head === null ? '' : gistOf(head)
      const here = info.name === current.name && !isPlanned ? ' (here)' : ''
      const asked = prompt === null ? '' : ` · ${gistOf(prompt)}`
      return {
        value: info.name,
        title: `${info.name}${here}${asked}`,
        facts: [formatAge(info.updatedAt, context.now()), `${own} of ${head === null ? 0 : head.depth + 1}`],
        alsoFinds: [last, info.title ?? ''],
        details: last === '' ? [] : [['last', last] as const],
      }
    }),
    scope: shortenId(conversation.id),
    keys: 'enter open · esc stay',
    ends: [],
  })
  const { by, choice } = await runPicker(picker, keyboard, context.err)
  return by === 'enter' && choice ? choice.value : null
}

async function byName(id: string, store: ChatStore, context: CommandContext): Promise<ChosenConversation> {
  const found = await findNamed(id, store, context)
  if (!found) throw new NotFoundError('id', id)
  return chooseNamed(id, found, { force: false }, store, context)
}

export const slashResume: SlashCommand = {
  name: 'resume',
  argument: '[id]',
  needs: 'nothing',
  help: 'continue another conversation',
  async run(chat, id) {
    const { context, controller } = chat
    const { store } = controller
    if (store === null)
      throw new UsageError('incognito: nothing is opened', 'Leave with /quit, then: skein resume')
    if (id === '' && !chat.keyboard) throw new UsageError('/resume needs an id here', 'skein ls lists them')
    const chosen =
      id === ''
        ? await pickConversation(store, chat.keyboard!, context, 'stay here')
        : await byName(id, store, context)
    if (chosen === null) return nextLine
    await controller.goTo(chosen)
    printHeader(chosen, context)
    if (chat.keyboard) await printLastExchange(chat)
    return nextLine
  },
  async complete({ context, controller }) {
    if (controller.store === null) return []
    const { items } = await controller.store.listConversations({
      directory: await projectDirectories(controller.store, context),
      kind: 'main',
      limit: 50,
    })
    return items.map(({ id, title }) => ({ text: shortenId(id), about: title ?? 'without a title' }))
  },
}
