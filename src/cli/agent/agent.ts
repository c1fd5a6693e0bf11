import { setImmediate as shown } from 'node:timers/promises'
import { agentName } from '../../acp/host/agent-name.ts'
import { createHost } from '../../acp/host/host.ts'
import {
  type AskPermission,
  allowPermission,
  type PermissionOption,
  refusePermission,
} from '../../acp/host/permission.ts'
import type { Agent } from '../../agent/agent.ts'
import { readConfig } from '../../config/read-config.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { modelName } from '../../core/model-name.ts'
import { collectPages } from '../../core/pages.ts'
import { startChat } from '../chat/chat.ts'
import type { KeyStroke } from '../chat/input/keyboard.ts'
import type { Chat } from '../chat/state/chat-state.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { handOverOptions } from '../model/hand-over.ts'
import type { ModelSetup } from '../model/model-setup.ts'
import { newStorePath } from '../store/store-location.ts'
import { type ChosenConversation, chooseConversation } from '../target/choose-conversation.ts'

/** `skein agent -- <command>`: a chat with the agent of another program. The conversation is kept in our
 *  store. */
export const agentCommand: CommandHandler = async (args, context) => {
  if (context.json) throw new UsageError('agent has no --json', 'The conversation as JSON: skein show --json')
  const [command, ...rest] = args.arguments as readonly [string, ...string[]]
  const handOver = await handOverOptions(args, context)
  const name = nameOf(args, { command, args: rest })
  let chat: Chat | null = null
  const keptIn = newStorePath(context)
  const chosen = await chooseConversation(args, context)
  if (chosen.prompt !== null) throw new NotFoundError('id', chosen.prompt)
  // The conversation keeps its system prompt, as with our own agent.
  const system = textOption(args, 'system') ?? chosen.status?.conversation.prompt?.text
  await using host = createHost({
    store: await context.store(),
    ...(system === undefined ? {} : { system }),
    command: { command, args: rest, cwd: context.cwd },
    name,
    directory: context.cwd,
    ...handOver,
    onPermission: permissionFor(() => chat, hasOption(args, 'allow')),
  })
  const setup = await foreignSpeaker(host, name, context)
  // Started while the user types, because some agents take long to start.
  if (context.canAsk) host.wake()
  return await startChat(await withOrigin(chosen, name, context), context, {
    setup,
    keptIn,
    name: textOption(args, 'session') ?? null,
    onChat(begun) {
      chat = begun
    },
  })
}

function nameOf(args: Args, command: Parameters<typeof agentName>[0]): string {
  const name = textOption(args, 'name') ?? agentName(command)
  if (name.trim() === '') throw new UsageError('--name must not be empty')
  return name
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
async function foreignSpeaker(agent: Agent, name: string, context: CommandContext): Promise<ModelSetup> {
  return {
    model: {
      id: name,
      stream() {
        throw new InvalidError('model', `${name} is a program, and asks a model of its own`)
      },
    },
    choice: { id: name, from: 'flag', aliases: {} },
    config: await readConfig(context.cwd, context.env),
    isForeign: true,
    window: 0,
    options: {},
    limit: () => 0,
    systemIn: () => null,
    ofNew: { model: name },
    changeOf: () => null,
    contextAt() {
      throw new InvalidError('model', `${name} chooses its own context`)
    },
    agentOn: async () => agent,
  }
}

/** Decides what an agent may do: `--allow` allows everything, otherwise the user is asked, and without a
 *  terminal every request is refused. */
function permissionFor(chat: () => Chat | null, allowsAll: boolean): AskPermission {
  return async (request, signal) => {
    if (allowsAll) return allowPermission(request, signal)
    const { keyboard = null, context } = chat() ?? {}
    if (keyboard === null || !context || request.options.length === 0)
      return refusePermission(request, signal)
    // The output before the question has to be on the screen first.
    await shown()
    const { err } = context
    const { style } = err
    const offered = request.options.slice(0, 9)
    err.line(`${style.note('?')} ${style.safe(collapseSpaces(request.title))}`)
    const keys = offered.map(({ name }, i) => `${i + 1} ${style.safe(collapseSpaces(name))}`)
    err.line(`  ${[...keys, 'esc refuses'].join(` ${style.symbols.dot} `)}`)
    const calledOff = new Promise<KeyStroke>(resolve => {
      signal.addEventListener('abort', () => resolve({ type: 'closed' }), { once: true })
    })
    for (;;) {
      const chosen = choiceBy(await Promise.race([keyboard.nextFresh(), calledOff]), offered)
      if (chosen === 'none') return refusePermission(request, signal)
      if (chosen) return chosen.optionId
    }
  }
}

/** By its number, or y and n to allow or refuse once. Null for any other key. */
function choiceBy(stroke: KeyStroke, offered: readonly PermissionOption[]): PermissionOption | 'none' | null {
  if (stroke.type === 'closed') return 'none'
  if (stroke.type === 'key') return stroke.name === 'escape' ? 'none' : null
  if (stroke.type !== 'text') return null
  const key = stroke.text.toLowerCase()
  const kind = key === 'y' ? 'allow_once' : key === 'n' ? 'reject_once' : null
  if (kind !== null) return offered.find(one => one.kind === kind) ?? null
  return /^[1-9]$/.test(key) ? (offered[Number(key) - 1] ?? null) : null
}
