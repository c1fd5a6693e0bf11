import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createHost } from '../../acp/host/host.ts'
import type { Host } from '../../acp/host/host-options.ts'
import { readConfig } from '../../config/read-config.ts'
import type { BranchRef } from '../../core/branch.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { modelName } from '../../core/model-name.ts'
import { collectPages } from '../../core/pages.ts'
import { settingText } from '../answer/agent-notes.ts'
import { type PersonApproval, personApproval } from '../approval/person-approval.ts'
import { attachedTo, startChat } from '../chat/chat.ts'
import type { Chat } from '../chat/state/chat-state.ts'
import {
  type Args,
  type CommandHandler,
  hasOption,
  textOption,
  textOptions,
} from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { handOverOptions } from '../model/hand-over.ts'
import type { ModelSetup } from '../model/model-setup.ts'
import { shellWord, skeinCommand } from '../store/skein-command.ts'
import { newStorePath } from '../store/store-location.ts'
import { type ChosenConversation, chooseConversation } from '../target/choose-conversation.ts'
import { agentQuestions } from './agent-questions.ts'
import { chatWithOwn } from './own-agent-chat.ts'
import { startedAgent } from './started-agent.ts'

/** `skein agent <name>` and `skein agent -- <command>`: a chat with an agent, mostly of another program. The
 *  conversation is kept in our store. */
export const agentCommand: CommandHandler = async (args, context) => {
  if (context.json) throw new UsageError('agent has no --json', 'The conversation as JSON: skein show --json')
  const started = await startedAgent(args, context)
  if ('own' in started) return chatWithOwn(started.own, args, context)
  const { command, name } = started
  const handOver = await handOverOptions(args, context)
  const settings = { ...started.settings, ...settingsIn(args) }
  const additionalDirectories = directoriesIn(args, context)
  const allowsAll = hasOption(args, 'allow')
  const approval = personApproval(context, allowsAll ? ['all'] : [])
  let chat: Chat | null = null
  const questions = agentQuestions(() => chat, { approval, allowsAll })
  const files = await attachedTo(args, context)
  const keptIn = newStorePath(context)
  const chosen = await chooseConversation(args, context)
  if (chosen.prompt !== null) throw new NotFoundError('id', chosen.prompt)
  // The conversation keeps its system prompt, as with our own agent.
  const system = textOption(args, 'system') ?? chosen.status?.conversation.prompt?.text
  await using host = createHost({
    store: await context.store(),
    ...(system === undefined ? {} : { system }),
    command: { ...command, cwd: command.cwd ?? context.cwd },
    name,
    directory: context.cwd,
    additionalDirectories,
    settings,
    offers: ['files', 'terminals'],
    ...handOver,
    ...questions,
    approvals: approval.approvals,
    onSetting(change) {
      chat?.later.push(settingText({ type: 'setting', ...change }))
      chat?.keyboard?.repaint()
    },
  })
  const setup = await foreignSpeaker(host, name, context, approval)
  const at = openAt(chosen)
  // A setting that the agent does not offer is an error before anything is stored.
  if (Object.keys(settings).length > 0 && at !== undefined) await host.offer(at)
  // Opened while the user types, because some agents take long to start.
  else if (context.canAsk && at !== undefined) void host.offer(at).catch(() => undefined)
  else if (context.canAsk) host.wake()
  return await startChat(await withOrigin(chosen, name, context), context, {
    setup,
    keptIn,
    files,
    continueWith: id =>
      `${skeinCommand(context)} agent -c ${id} -- ${args.arguments.map(shellWord).join(' ')}`,
    name: textOption(args, 'session') ?? null,
    onChat(begun) {
      chat = begun
    },
  })
}

/** `--mode`, `--model` and `--set`. */
function settingsIn(args: Args): Readonly<Record<string, string>> {
  const given = textOptions(args, 'set').map(text => splitAssignment(text, 'set'))
  const [mode, model] = [textOption(args, 'mode'), textOption(args, 'model')]
  return {
    ...Object.fromEntries(given),
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
  }
}

/** `--add-dir`, as absolute paths. */
function directoriesIn(args: Args, { cwd }: CommandContext): readonly string[] {
  return textOptions(args, 'add-dir').map(written => {
    const path = resolve(cwd, written)
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw new UsageError(`--add-dir needs a directory: there is no ${written}`)
    return path
  })
}

/** The branch that the agent can be opened on ahead; null for a new conversation. Undefined if the first
 *  message makes a branch. */
function openAt({ status, fork }: ChosenConversation): BranchRef | null | undefined {
  if (fork) return undefined
  return status && { conversationId: status.conversation.id, name: status.branch.name }
}

/** Adds a note if the conversation began with another agent: what is carried over, and what is not. */
async function withOrigin(
  chosen: ChosenConversation,
  name: string,
  context: CommandContext,
): Promise<ChosenConversation> {
  const { status } = chosen
  const origin = status?.conversation.model ?? null
  if (!status?.head || origin === null || origin === name) return chosen
  const store = await context.store()
  const { conversationId, name: branch } = {
    conversationId: status.conversation.id,
    name: status.branch.name,
  }
  const links = await collectPages(page => store.listAgentLinks({ conversationId, name: branch }, page))
  if (links.some(link => link.agent === name && link.directory === context.cwd)) return chosen
  const note = `began with ${modelName(origin)}: ${name} is told the conversation as text, tool calls and long results shortened`
  return { ...chosen, notes: [...chosen.notes, note] }
}

/** The setup for an agent that is another program. It chooses its own model. */
async function foreignSpeaker(
  host: Host,
  name: string,
  context: CommandContext,
  approval: PersonApproval,
): Promise<ModelSetup> {
  return {
    model: {
      id: name,
      stream() {
        throw new InvalidError('model', `${name} is a program, and asks a model of its own`)
      },
    },
    choice: { id: name, from: 'flag', aliases: {} },
    config: await readConfig(context.cwd, context.env),
    host,
    window: 0,
    options: { approval },
    limit: () => 0,
    systemIn: () => null,
    ofNew: { model: name },
    changeOf: () => null,
    contextAt() {
      throw new InvalidError('model', `${name} chooses its own context`)
    },
    agentOn: async () => host,
  }
}
