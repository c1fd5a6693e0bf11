import { randomUUID } from 'node:crypto'
import { Readable, Writable } from 'node:stream'
import * as acp from '@agentclientprotocol/sdk/unstable'
import { askModel } from './ask-model.ts'
import type { Entry, Memory, Remembered } from './memory.ts'
import { type Playing, play } from './play.ts'
import type { ModelMessage } from './step.ts'

/** The ways in which an agent of the tests can differ. */
export interface Traits {
  readonly name: string
  readonly memory: Memory
  readonly capabilities?: acp.AgentCapabilities
  readonly modes?: readonly string[]
  /** The separator between the blocks of a prompt before the model gets them. */
  readonly separator?: string
  /** When a turn is stored: the question at once and the answer at its end, or both at the end. */
  readonly keeps?: 'question first' | 'whole turns'
  readonly namesMessages?: boolean
  /** A text of the agent itself before each question, replayed as text of the user. */
  readonly reminder?: string
  /** A text of the agent itself before each answer, as if it were a part of it; neither the model nor a
   *  replay has it. */
  readonly notice?: string
  /** How it refuses an unknown session. */
  readonly unknownCode?: number
}

/** An agent under construction: the common parts are there, the rest is added to `app`. */
export interface AgentKit {
  readonly app: acp.AgentApp
  readonly traits: Traits
  /** Opens a session in this process. Throws as the traits say if it is unknown. A system prompt that is not
   *  sent again is dropped, as the protocol allows. */
  takeUp(sessionId: string, system?: acp.SystemPrompt | null): Remembered
  begin(cwd: string, system: acp.SystemPrompt | null | undefined, entries?: readonly Entry[]): Remembered
  drop(sessionId: string): void
  /** The updates of a replay of this session. */
  replayOf(remembered: Remembered): readonly acp.SessionUpdate[]
  modesOf(remembered: Remembered): { modes?: acp.SessionModeState }
  unknown(sessionId: string): acp.RequestError
  /** Starts to listen on stdin. */
  run(): void
}

/** An agent that can begin a session, answer prompts and be cancelled, and nothing else. */
export function createAgent(traits: Traits): AgentKit {
  const { name, memory, capabilities = {}, separator = '\n', keeps = 'question first' } = traits
  const live = new Map<string, Remembered>()
  const running = new Map<string, AbortController>()
  const app = acp.agent({ name })

  function keep(remembered: Remembered): Remembered {
    const now = { ...remembered, updatedAt: new Date().toISOString() }
    live.set(now.sessionId, now)
    memory.keep(now)
    return now
  }

  const kit: AgentKit = {
    app,
    traits,
    takeUp(sessionId, system) {
      const known = memory.find(sessionId)
      if (!known) throw kit.unknown(sessionId)
      return keep({ ...known, system: system ? textOf(system.content, '\n') : null })
    },
    begin: (cwd, system, entries = []) =>
      keep({
        sessionId: `${name}-${randomUUID()}`,
        cwd,
        system: system ? textOf(system.content, '\n') : null,
        mode: traits.modes?.[0] ?? '',
        updatedAt: '',
        entries,
      }),
    drop(sessionId) {
      running.get(sessionId)?.abort()
      live.delete(sessionId)
    },
    replayOf: ({ entries }) => entries.flatMap(({ updates }) => updates),
    modesOf: ({ mode }) => (traits.modes ? { modes: modesOf(traits.modes, mode) } : {}),
    unknown: sessionId => new acp.RequestError(traits.unknownCode ?? -32_002, `no session ${sessionId}`),
    run() {
      const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
      const connection = app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), input))
      connection.closed.finally(() => process.exit()).catch(() => undefined)
    },
  }

  app.onRequest('initialize', () => ({
    protocolVersion: 1,
    agentInfo: { name, version: '1.0.0' },
    agentCapabilities: capabilities,
  }))
  app.onRequest('session/new', ({ params }) => {
    const begun = kit.begin(params.cwd, params.systemPrompt)
    return { sessionId: begun.sessionId, ...kit.modesOf(begun) }
  })
  app.onRequest('session/set_mode', ({ params }) => {
    const known = live.get(params.sessionId)
    if (!known) throw kit.unknown(params.sessionId)
    keep({ ...known, mode: params.modeId })
  })
  app.onNotification('session/cancel', ({ params }) => running.get(params.sessionId)?.abort())
  app.onRequest('session/prompt', async ({ params, client, signal: gone }) => {
    const { sessionId, prompt } = params
    const before = live.get(sessionId)
    if (!before) throw kit.unknown(sessionId)
    const cancelled = new AbortController()
    running.set(sessionId, cancelled)
    const signal = AbortSignal.any([cancelled.signal, gone])
    const asked = { ...before, entries: [...before.entries, questionOf(prompt, separator, traits)] }
    if (keeps === 'question first') keep(asked)
    const call = { agent: name, sessionId, messages: messagesOf(asked) }
    const playing: Playing = { client, sessionId, signal, namesMessages: traits.namesMessages ?? false }
    if (traits.notice !== undefined) await client.notify('session/update', noticeOf(sessionId, traits.notice))
    const { entry, stopReason } = await play(askModel(call, signal), playing)
    running.delete(sessionId)
    const { mode } = live.get(sessionId) ?? asked
    keep({ ...asked, mode, entries: [...asked.entries, entry] })
    return { stopReason }
  })
  return kit
}

function noticeOf(sessionId: string, text: string): acp.SessionNotification {
  return { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } }
}

/** The input of the model: all messages, as the agent has understood them. */
function messagesOf({ system, entries }: Remembered): readonly ModelMessage[] {
  const said = entries.map(({ role, text }) => ({ role, text }))
  return system === null ? said : [{ role: 'system', text: system }, ...said]
}

function questionOf(
  prompt: readonly acp.ContentBlock[],
  separator: string,
  { reminder, namesMessages }: Traits,
): Entry {
  const named = namesMessages ? { messageId: randomUUID() } : {}
  const own = reminder === undefined ? [] : [{ type: 'text', text: reminder } as const]
  const updates = [...own, ...prompt].map(
    content => ({ sessionUpdate: 'user_message_chunk', content, ...named }) as const,
  )
  return { role: 'user', text: textOf([...own, ...prompt], separator), updates }
}

/** The text of a prompt, as the model gets it. */
export function textOf(blocks: readonly acp.ContentBlock[], separator: string): string {
  return blocks.map(wordsOf).join(separator)
}

function wordsOf(block: acp.ContentBlock): string {
  if (block.type === 'text') return block.text
  if (block.type === 'resource_link') return block.uri
  if (block.type === 'resource') return 'text' in block.resource ? block.resource.text : block.resource.uri
  return `[${block.type} of ${block.data.length} characters]`
}

function modesOf(modes: readonly string[], current: string): acp.SessionModeState {
  return { currentModeId: current, availableModes: modes.map(id => ({ id, name: id })) }
}
