import { setImmediate as shown } from 'node:timers/promises'
import { agentName } from '../../acp/host/agent-name.ts'
import { createHost } from '../../acp/host/host.ts'
import {
  type AskPermission,
  allowPermission,
  type PermissionOption,
  refusePermission,
} from '../../acp/host/permission.ts'
import { defaultTelling, mostTold } from '../../acp/memory/telling.ts'
import type { Agent } from '../../agent/agent.ts'
import { readConfig } from '../../config/read-config.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { leftBehind } from '../answer/agent-notes.ts'
import { startChat } from '../chat/chat.ts'
import type { Stroke } from '../chat/input/keyboard.ts'
import type { Chat } from '../chat/state/chat-state.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import type { Speaker } from '../model/model-setup.ts'
import { folded } from '../output/cut.ts'
import { modelName } from '../output/model-name.ts'
import { firstPlace } from '../store/store-location.ts'
import { type Chosen, chooseConversation } from '../target/choose-conversation.ts'

/** `skein agent -- <command>`: a chat with an agent of another program, whose conversations live in our store. */
export const agent: Run = async (given, world) => {
  if (world.json) throw new UsageError('agent has no --json', 'What was said as JSON: skein show --json')
  const [command, ...args] = given.arguments as readonly [string, ...string[]]
  const tell = tellOf(given)
  const name = nameOf(given, { command, args })
  let chat: Chat | null = null
  const keptIn = firstPlace(world)
  const chosen = await chooseConversation(given, world)
  if (chosen.word !== null) throw new NotFoundError('id', chosen.word)
  await using host = createHost({
    store: await world.store(),
    command: { command, args, cwd: world.cwd },
    name,
    directory: world.cwd,
    tell,
    onPermission: permissionFor(() => chat, hasOption(given, 'allow')),
  })
  const speaker = await foreignSpeaker(host, name, world)
  // A person takes a moment to type, and some agents take longer to start.
  if (world.canAsk) host.wake()
  return await startChat(await withOrigin(chosen, name, world), world, {
    speaker,
    keptIn,
    system: null,
    name: textOption(given, 'session') ?? null,
    onChat(begun) {
      chat = begun
    },
  })
}

function nameOf(given: Given, command: Parameters<typeof agentName>[0]): string {
  const name = textOption(given, 'name') ?? agentName(command)
  if (name.trim() === '') throw new UsageError('--name must not be empty')
  return name
}

function tellOf(given: Given): number {
  const text = textOption(given, 'tell') ?? String(defaultTelling.messages)
  const tell = /^\d+$/.test(text) ? Number(text) : 0
  if (tell >= 1 && tell <= mostTold) return tell
  throw new UsageError(`--tell needs a number of messages from 1 to ${mostTold}`, '--tell 50')
}

/** Whoever goes on with a conversation of another agent should know what comes along, and what does not. */
async function withOrigin(chosen: Chosen, name: string, world: World): Promise<Chosen> {
  const { standing } = chosen
  const origin = standing?.conversation.model ?? null
  if (!standing?.head || origin === null || origin === name) return chosen
  const store = await world.store()
  const { conversationId, name: branch } = {
    conversationId: standing.conversation.id,
    name: standing.branch.name,
  }
  const links = await store.listAgentLinks({ conversationId, name: branch })
  if (links.some(link => link.agent === name && link.directory === world.cwd)) return chosen
  const note = `began with ${modelName(origin)}: ${name} is told what was said and which tools were used; ${leftBehind}`
  return { ...chosen, notes: [...chosen.notes, note] }
}

/** One who answers by being another program, under this name. */
async function foreignSpeaker(agent: Agent, name: string, world: World): Promise<Speaker> {
  return {
    model: {
      id: name,
      stream() {
        throw new InvalidError('model', `${name} is a program, and asks a model of its own`)
      },
    },
    choice: { id: name, from: 'flag', aliases: {} },
    config: await readConfig(world.cwd, world.env),
    isForeign: true,
    window: 0,
    options: {},
    contextWindow: { limit: 0 },
    agentOn: async () => agent,
  }
}

/** Who decides what an agent may do: everything with `--allow`, otherwise the person at the keyboard, and nobody in a pipe. */
function permissionFor(chat: () => Chat | null, allowsAll: boolean): AskPermission {
  return async (request, signal) => {
    if (allowsAll) return allowPermission(request, signal)
    const { keyboard = null, world } = chat() ?? {}
    if (keyboard === null || !world || request.options.length === 0) return refusePermission(request, signal)
    // What was said before the question is on the screen first.
    await shown()
    const { err } = world
    const { style } = err
    const offered = request.options.slice(0, 9)
    err.line(`${style.note('?')} ${style.safe(folded(request.title))}`)
    const keys = offered.map(({ name }, i) => `${i + 1} ${style.safe(folded(name))}`)
    err.line(`  ${[...keys, 'esc refuses'].join(` ${style.symbols.dot} `)}`)
    const calledOff = new Promise<Stroke>(resolve => {
      signal.addEventListener('abort', () => resolve({ type: 'closed' }), { once: true })
    })
    for (;;) {
      const chosen = choiceBy(await Promise.race([keyboard.nextFresh(), calledOff]), offered)
      if (chosen === 'none') return refusePermission(request, signal)
      if (chosen) return chosen.optionId
    }
  }
}

/** By its number, or y and n for what is allowed or refused once; null for a key that says nothing. */
function choiceBy(stroke: Stroke, offered: readonly PermissionOption[]): PermissionOption | 'none' | null {
  if (stroke.type === 'closed') return 'none'
  if (stroke.type === 'key') return stroke.name === 'escape' ? 'none' : null
  if (stroke.type !== 'text') return null
  const key = stroke.text.toLowerCase()
  const kind = key === 'y' ? 'allow_once' : key === 'n' ? 'reject_once' : null
  if (kind !== null) return offered.find(one => one.kind === kind) ?? null
  return /^[1-9]$/.test(key) ? (offered[Number(key) - 1] ?? null) : null
}
