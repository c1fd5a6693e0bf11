import { NotFoundError } from '../../../core/errors.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { plural } from '../../output/number.ts'
import { shortened } from '../../output/short-id.ts'
import { age } from '../../output/time.ts'
import { chooseConversation, goOnWith } from '../../target/choose-conversation.ts'
import { findNamed } from '../../target/find-named.ts'
import { pick } from '../input/pick.ts'
import { newPicker } from '../input/picker.ts'
import { readLine } from '../input/read-line.ts'
import { ask, type Chat, type Next } from '../state/chat-state.ts'
import { showLastExchange } from '../state/last-exchange.ts'
import { lastWords } from '../state/last-words.ts'
import { chooseByHand as choose } from '../state/pick-conversation.ts'
import { sayHeader } from '../state/say-header.ts'
import { here, type SlashCommand } from './slash-command.ts'

async function startNew(chat: Chat): Promise<Next> {
  const { world, talker, name } = chat
  const wish = talker.store === null ? { incognito: true as const } : { new: true as const }
  const options = { ...wish, ...(name === null ? {} : { session: name }) }
  const chosen = await chooseConversation({ arguments: [], options }, world)
  talker.goTo(chosen)
  sayHeader(chosen, world)
  return ask
}

export const startAnew: SlashCommand = {
  name: 'new',
  needs: 'nothing',
  help: 'start a new conversation; this one stays',
  run: startNew,
}

export const clear: SlashCommand = {
  name: 'clear',
  argument: '[--yes]',
  help: 'move this one to the trash, and start a new one',
  async run(chat, argument) {
    const { store, conversation } = await here(chat)
    const branches = await store.listBranches(conversation.id)
    const what = `${plural(conversation.messages, 'message')} on ${plural(branches.length, 'branch', 'branches')}`
    if (argument !== '--yes' && !(await isSure(chat, what))) {
      chat.say('nothing was changed')
      return ask
    }
    await store.trash(conversation.id)
    chat.say(`moved to trash: ${what}. Undo: skein restore ${shortened(conversation.id)}`)
    return startNew(chat)
  },
}

async function isSure(chat: Chat, what: string): Promise<boolean> {
  if (!chat.keyboard) throw new UsageError('/clear deletes, so it needs --yes here', '/new keeps everything')
  const { err } = chat.world
  err.line(`move ${what} to trash? y/N   (/new starts a new conversation and keeps this one)`)
  const read = await readLine({ keyboard: chat.keyboard, paper: err })
  return read.type === 'line' && /^\s*y(es)?\s*$/i.test(read.text)
}

export const switchBranch: SlashCommand = {
  name: 'switch',
  argument: '[branch]',
  help: 'go on with another branch of this conversation',
  async run(chat, name) {
    const { store, conversation } = await here(chat)
    const target = name === '' ? await pickBranch(chat) : name
    if (target === null) return ask
    const branch = await store.getBranch({ conversationId: conversation.id, name: target })
    await store.activateBranch(branch)
    chat.talker.goToBranch(branch)
    const { style } = chat.world.err
    chat.say(`now on ${style.branch(style.safe(branch.name))}`)
    if (chat.keyboard) await showLastExchange(chat)
    return ask
  },
  async complete(chat) {
    const { store, conversation } = await here(chat)
    return (await store.listBranches(conversation.id)).map(({ name }) => name)
  },
}

async function pickBranch(chat: Chat): Promise<string | null> {
  const { keyboard, world } = chat
  if (!keyboard) throw new UsageError('/switch needs a branch here', 'skein branches lists them')
  const { store, conversation, branch: current } = await here(chat)
  const branches = await store.listBranches(conversation.id)
  const newestFirst = branches.toSorted((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime())
  const lasts = await lastWords(
    store,
    newestFirst.map(({ head }) => head),
  )
  const picker = newPicker({
    question: 'Go on with which branch?',
    choices: newestFirst.map((branch, i) => ({
      value: branch.name,
      title: branch.name === current.name ? `${branch.name} (here)` : branch.name,
      facts: [age(branch.updatedAt, world.now()), `+${branch.messagesSinceBase}`],
      alsoFinds: [lasts[i] ?? '', branch.title ?? ''],
      details: lasts[i] ? [['last', lasts[i]] as const] : [],
    })),
    scope: shortened(conversation.id),
    keys: 'enter go on · esc stay',
    ends: [],
  })
  const { by, choice } = await pick(picker, keyboard, world.err)
  return by === 'enter' && choice ? choice.value : null
}

export const resume: SlashCommand = {
  name: 'resume',
  argument: '[id]',
  needs: 'nothing',
  help: 'go on with another conversation',
  async run(chat, id) {
    const { world, talker } = chat
    const { store } = talker
    if (store === null)
      throw new UsageError('incognito: nothing is opened', 'Leave with /quit, then: skein resume')
    if (id === '' && !chat.keyboard) throw new UsageError('/resume needs an id here', 'skein ls lists them')
    const named = id === '' ? await choose(store, chat.keyboard!, world, 'stay here') : id
    if (named === null) return ask
    const found = await findNamed(named, store, world)
    if (!found) throw new NotFoundError('id', named)
    const chosen = await goOnWith(named, found, { force: id === '' }, store, world)
    talker.goTo(chosen)
    sayHeader(chosen, world)
    if (chat.keyboard) await showLastExchange(chat)
    return ask
  },
  async complete({ world, talker }) {
    if (talker.store === null) return []
    const { items } = await talker.store.listConversations({ directory: world.cwd, kind: 'main', limit: 50 })
    return items.map(({ id }) => shortened(id))
  },
}
