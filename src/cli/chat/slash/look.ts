import { readContext } from '../../../context/read-context.ts'
import { windowOf } from '../../../context/windows.ts'
import type { Run } from '../../command-line/command.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { openNamed } from '../../model/choose-model.ts'
import { modelName } from '../../output/model-name.ts'
import { search as searchCommand } from '../../read/search.ts'
import { show } from '../../read/show.ts'
import { tree as treeCommand } from '../../read/tree.ts'
import { ask, type Chat, type Next } from '../state/chat-state.ts'
import { contextLines } from './context-lines.ts'
import { here, type SlashCommand } from './slash-command.ts'

/** A command of the command line, in the middle of a chat. It may bring its own pager. */
async function runCommand(chat: Chat, run: Run, argument: string): Promise<Next> {
  const command = () => run({ arguments: [argument], options: {} }, chat.world)
  await (chat.keyboard ? chat.keyboard.lend(command) : command())
  return ask
}

export const history: SlashCommand = {
  name: 'history',
  help: 'what was said so far',
  async run(chat) {
    const { conversation, branch, head } = await here(chat)
    return runCommand(chat, show, head ?? `${conversation.id}:${branch.name}`)
  },
}

export const tree: SlashCommand = {
  name: 'tree',
  help: 'all branches of this conversation',
  async run(chat) {
    return runCommand(chat, treeCommand, (await here(chat)).conversation.id)
  },
}

export const search: SlashCommand = {
  name: 'search',
  argument: '<words>',
  needs: 'nothing',
  help: 'find anything said in this directory',
  async run(chat, words) {
    if (chat.talker.store === null) throw new UsageError('incognito: nothing is opened')
    if (words === '') throw new UsageError('/search needs words', '/search certificate')
    return runCommand(chat, searchCommand, words)
  },
}

export const context: SlashCommand = {
  name: 'context',
  argument: '[model]',
  ofModels: true,
  help: 'what the next call sees',
  async run(chat, name) {
    const { store, head } = await here(chat)
    const { world, talker } = chat
    const model = name === '' ? talker.model.id : (await openNamed(name, world)).id
    const { limit } = windowOf(model)
    const window = { ...talker.window, limit }
    const pinned = { system: talker.system }
    const read = await readContext(store, head, window, pinned, { toolResults: 'preview' })
    for (const line of contextLines(read, { model: modelName(model), limit }, world.out)) world.out.line(line)
    return ask
  },
}
