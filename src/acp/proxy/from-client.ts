import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import { findPlace } from '../session-id.ts'
import { isObject } from '../wire/is-object.ts'
import type { Line } from '../wire/line.ts'
import { internalError } from '../wire/rpc-error.ts'
import { spansOf, spliced } from '../wire/splice.ts'
import { withOurAbilities } from './announce.ts'
import { answerRequest, seeToClose, seeToDelete, seeToFork, seeToList } from './client-requests.ts'
import type { Entry } from './entry.ts'
import { entryFor, makeEntry } from './make-entry.ts'
import { withSessionId } from './map-id.ts'
import { openSession } from './open-session.ts'
import { takePrompt } from './prompt.ts'
import type { Proxying } from './proxying.ts'
import { errorLine, failureOf, unknownSession } from './reply.ts'

/** What a client's line is about. */
interface Said {
  readonly line: Line
  readonly params: JsonObject
  /** The session that it names, if we know it. */
  readonly entry: Entry | undefined
}

/** Sees to the client's requests and notifications: passes them on, or does what they ask for. */
export function createFromClient(proxying: Proxying): (line: Line) => void {
  const { store, side, answers, entries, tell, toAgent, log } = proxying

  /** The methods that we have a part in. All others go through. */
  const seen: Readonly<Record<string, (said: Said) => void>> = {
    initialize: introduce,
    authenticate: signIn,
    'session/new': said => void begin(said),
    'session/load': ({ line }) => void openSession(proxying, line),
    'session/resume': ({ line }) => void openSession(proxying, line),
    'session/list': ({ line }) => void answerRequest(proxying, line, seeToList),
    'session/fork': ({ line }) => void answerRequest(proxying, line, seeToFork),
    'session/delete': ({ line }) => void answerRequest(proxying, line, seeToDelete),
    'session/close': ({ line }) => void answerRequest(proxying, line, seeToClose),
    'session/prompt': said => void prompt(said),
    'session/cancel': cancel,
    'session/set_mode': set,
    'session/set_config_option': set,
  }

  return line => {
    const { method, id, params = {} } = line.message!
    const { sessionId } = params
    const entry = typeof sessionId === 'string' ? entries.get(sessionId) : undefined
    const said = { line, params, entry }
    const see = seen[method!]
    if (see) see(said)
    else if (id === undefined) passOn(said)
    else void pass(said)
  }

  function introduce({ line, params }: Said): void {
    const failed = () => {
      died(line)
      if (!side.isIntroduced) proxying.giveUp()
    }
    if (!side.isAlive) {
      failed()
      return
    }
    answers.expect(line.message!.id!, {
      onAnswer(reply) {
        const { result, error } = reply.message!
        const version = isObject(result) ? result.protocolVersion : null
        if (!error) side.introduced(params, result)
        if (version !== 1 && !error)
          log(
            `the agent speaks version ${String(version)} of the protocol: it is passed on, and nothing is kept`,
          )
        tell(version === 1 ? withOurAbilities(reply.bytes) : reply.bytes)
      },
      onDeath: failed,
    })
    toAgent(line.bytes)
  }

  function signIn(said: Said): void {
    void pass(said, () => side.signedIn(said.params))
  }

  /** What was set is set again in the next session of the agent's. */
  function set(said: Said): void {
    const { line, params, entry } = said
    const { method } = line.message!
    void pass(said, () => {
      if (!entry) return
      const { sessionId: _, ...rest } = params
      entry.settings.set(`${method!} ${String(params.configId ?? '')}`, { method: method!, params: rest })
      entry.setIn = entry.seat.sessionId
    })
  }

  /** Passes a notification on. If the agent is dead, it is for nobody. */
  function passOn(said: Said): void {
    if (side.isAlive) toAgent(forAgent(said))
  }

  /** Passes a request on; an agent that has died since is started again, and seated, before it is asked. */
  async function pass(said: Said, onDone?: () => void): Promise<void> {
    const { line, entry } = said
    const id = line.message!.id!
    const expect = () =>
      answers.expect(id, {
        onAnswer(reply) {
          if (!reply.message!.error) onDone?.()
          tell(reply.bytes)
        },
        onDeath: () => died(line),
      })
    if (side.isAlive && (!entry || entry.seat.sessionId !== null)) {
      expect()
      toAgent(forAgent(said))
      return
    }
    try {
      await side.ready()
      await entry?.seat.sit()
      expect()
      toAgent(forAgent(said))
    } catch (error) {
      tell(errorLine(id, failureOf(error)))
    }
  }

  /** The line with the agent's own id for the session. */
  function forAgent({ line, entry }: Said): Buffer {
    const sessionId = entry?.seat.sessionId
    return sessionId ? withSessionId(line, sessionId) : line.bytes
  }

  /** `session/new`: the agent's id is the client's too, unless there is one like it already. */
  async function begin({ line, params }: Said): Promise<void> {
    const id = line.message!.id!
    try {
      if (!side.isAlive) await side.ready()
    } catch (error) {
      tell(errorLine(id, failureOf(error)))
      return
    }
    answers.expect(id, {
      async onAnswer(reply) {
        const { result } = reply.message!
        const agents = isObject(result) ? result.sessionId : null
        if (typeof agents !== 'string') {
          tell(reply.bytes)
          return
        }
        const isTaken = entries.get(agents) !== undefined || (await findPlace(store, agents)) !== null
        const clients = isTaken ? randomUUID() : agents
        const entry = makeEntry(proxying, clients, params, null)
        entry.seat.begun(agents)
        const by = JSON.stringify(clients)
        const spans = isTaken ? spansOf(reply.bytes, ['result', 'sessionId']) : []
        tell(
          spliced(
            reply.bytes,
            spans.map(span => ({ span, by })),
          ),
        )
        entries.link(agents, entry)
      },
      onDeath: () => died(line),
    })
    toAgent(line.bytes)
  }

  /** A session that is not open is taken up in the same way as by `session/load` (S4-10). */
  async function prompt({ line, params, entry }: Said): Promise<void> {
    const id = line.message!.id!
    const sessionId = String(params.sessionId)
    try {
      const open = entry ?? (await entryFor(proxying, sessionId, {}))
      if (open) await takePrompt(proxying, open, line)
      else tell(unknownSession(id, sessionId))
    } catch (error) {
      log(`prompt: ${String(error)}`)
      tell(errorLine(id, failureOf(error)))
    }
  }

  /** Stops what the agent is at, and what waits for it. */
  function cancel(said: Said): void {
    const prompts = [...(said.entry?.prompts ?? [])]
    const waiting = prompts.filter(({ sent }) => !sent)
    for (const { abort } of waiting) abort.abort(new DOMException('cancelled', 'AbortError'))
    if (waiting.length === 0 || waiting.length < prompts.length) passOn(said)
  }

  function died(line: Line): void {
    tell(errorLine(line.message!.id!, { code: internalError, message: side.epitaph }))
  }
}
