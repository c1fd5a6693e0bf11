import type { Agent } from '../../agent/agent.ts'
import type { DiscordSettings } from '../../config/discord-settings.ts'
import type { BranchRef } from '../../core/branch.ts'
import { UnavailableError } from '../../core/errors.ts'
import type { BranchInConversation } from '../../core/ports.ts'
import { createKeyedQueue } from '../../core/wait.ts'
import { savedWithin } from '../../recorder/waiting-turns.ts'
import { createAgentPool } from '../agent-pool.ts'
import { isAddressed, isAllowed } from './access.ts'
import { type AnswerStop, answerMessage, storeUnanswered } from './answer-message.ts'
import { createAnswerStream } from './answer-stream.ts'
import { type ModelChooser, runCommand } from './commands.ts'
import { type ChannelStore, findPlace, findTurnAt, isKnownMessage, wordsOf } from './conversations.ts'
import { failureLine } from './failure-line.ts'
import type { IncomingCommand, IncomingMessage } from './incoming.ts'
import { type DiscordPlace, keyOfPlace } from './place.ts'

/** What a channel is made of. It borrows the store; the opener closes it. */
export interface DiscordChannelOptions {
  readonly store: ChannelStore
  /** Opens the agent of a conversation. */
  openAgent(conversationId: string): Promise<Agent>
  readonly settings: Pick<DiscordSettings, 'allow' | 'threadContext' | 'onDelete' | 'maxAgents'>
  /** The people who own the application. */
  readonly owners: readonly string[]
  readonly models: ModelChooser
  /** Texts that no line may contain, such as the token. */
  readonly secrets: readonly string[]
  /** Reports a failure, for the log. It has no words of a message. */
  onProblem(what: string, error: unknown): void
  /** The shortest time between two edits of an answer. Default: 1,200. */
  readonly editMs?: number
  /** How long an idle agent stays in memory. Default: 10 minutes. */
  readonly idleMs?: number
}

/** The conversations of a bot. Receives plain values; `client.ts` connects it with Discord. */
export interface DiscordChannel {
  /** Takes a message. The order of the calls is the order of the conversation. */
  receive(message: IncomingMessage): void
  /** A message was edited or deleted. */
  changed(change: 'edit' | 'delete', place: DiscordPlace, messageIds: readonly string[]): void
  /** Runs a slash command and shows its answer. */
  command(command: IncomingCommand): Promise<void>
  /** The number of agents in memory. */
  readonly agents: number
  /** Resolves when nothing is running or waiting. */
  idle(): Promise<void>
  /** Ends running answers as interrupted, and stores waiting messages. False if something could not be
   *  stored. */
  close(): Promise<boolean>
}

/** Most ids of messages and branches to remember. */
const mostRemembered = 10_000
/** The time for the last edits of answers when the bot shuts down. */
const farewellMs = 10_000
/** The time to wait for a store that does not answer. */
const saveWithinMs = 20_000

interface RunningAnswer {
  readonly placeKey: string
  readonly stop: AbortController
}

/** Creates the channel: one conversation for each place, one agent for each conversation. A message is
 *  assigned to its conversation when it arrives, so a later `/new` does not move it. Turns of one
 *  conversation run one after the other, those of different ones in parallel. */
export function createDiscordChannel(options: DiscordChannelOptions): DiscordChannel {
  const { store, settings, owners, secrets, onProblem } = options
  const access = { owners, allow: settings.allow }
  const { openAgent: open, idleMs } = options
  const pool = createAgentPool({
    open,
    most: settings.maxAgents,
    ...(idleMs !== undefined && { idleMs }),
  })
  const arrivals = createKeyedQueue()
  const turns = createKeyedQueue()
  const seen = limitedMap<true>()
  const lastTargets = limitedMap<BranchInConversation>()
  const running = new Set<RunningAnswer>()
  const waiting = new Map<string, string>()
  const withdrawn = new Set<string>()
  const pending = new Set<Promise<unknown>>()
  let isClosing = false

  function track(work: Promise<unknown>): void {
    pending.add(work)
    void work.finally(() => pending.delete(work)).catch(() => undefined)
  }

  function receive(message: IncomingMessage): void {
    const { id, place, author, text, attachments } = message
    if (isClosing || isAddressed(message) === 'no' || !isAllowed(place, author.id, access)) return
    if (text === '' && attachments.length === 0) return
    if (seen.has(id)) return
    seen.set(id, true)
    const key = keyOfPlace(place)
    waiting.set(id, key)
    track(
      arrivals(key, () => admit(message)).catch((error: unknown) => {
        waiting.delete(id)
        onProblem('a message could not be stored', error)
        return message.port.send(failureLine(error, 'nothing', secrets), id).catch(() => undefined)
      }),
    )
  }

  /** Assigns a message to its conversation and queues its turn. */
  async function admit(message: IncomingMessage): Promise<void> {
    const { id, place } = message
    const isUnknownThread = isAddressed(message) === 'if known' && !(await isKnownPlace(keyOfPlace(place)))
    const target = isUnknownThread ? null : await locate(message)
    if (target === null || (await isRepeated(target, id))) {
      waiting.delete(id)
      return
    }
    const { conversationId, name } = target.branch
    track(turns(`${conversationId}:${name}`, () => answer(message, { conversationId, name })))
  }

  /** While the store is away, a thread that this process has not seen counts as one of other people: a line
   *  about the store would disturb them. */
  async function isKnownPlace(key: string): Promise<boolean> {
    try {
      return (await store.findByKey(key)) !== null
    } catch (error) {
      if (error instanceof UnavailableError) return lastTargets.has(key)
      throw error
    }
  }

  /** While the store is away, a known place keeps its last conversation. */
  async function locate(message: IncomingMessage): Promise<BranchInConversation> {
    const key = keyOfPlace(message.place)
    try {
      const found = await findPlace(store, message, settings.threadContext === 'inherit')
      lastTargets.set(key, found)
      return found
    } catch (error) {
      const last = lastTargets.get(key)
      if (error instanceof UnavailableError && last) return last
      throw error
    }
  }

  async function isRepeated(target: BranchInConversation, id: string): Promise<boolean> {
    try {
      return await isKnownMessage(store, target, id)
    } catch (error) {
      if (error instanceof UnavailableError) return false
      throw error
    }
  }

  async function answer(message: IncomingMessage, branch: BranchRef): Promise<void> {
    const { id, place, port } = message
    waiting.delete(id)
    if (withdrawn.delete(id)) return
    if (isClosing) {
      await storeUnanswered(store, message, branch).catch(error => onProblem('a message was lost', error))
      return
    }
    const stream = createAnswerStream({
      port,
      replyTo: id,
      onProblem: error => onProblem('an answer could not be shown', error),
      ...(options.editMs !== undefined && { intervalMs: options.editMs }),
    })
    const mine = { placeKey: keyOfPlace(place), stop: new AbortController() }
    running.add(mine)
    try {
      const setup = { message, branch, stream, signal: mine.stop.signal, secrets }
      const failed = await pool.use(branch.conversationId, agent => answerMessage(agent, setup))
      if (failed !== null) onProblem('an answer failed', failed)
    } catch (error) {
      onProblem('an agent could not be opened', error)
      stream.note(failureLine(error, 'nothing', secrets))
    } finally {
      running.delete(mine)
      await stream.end()
    }
  }

  function changed(change: 'edit' | 'delete', place: DiscordPlace, messageIds: readonly string[]): void {
    if (isClosing) return
    const key = keyOfPlace(place)
    for (const id of messageIds) {
      // A message that was deleted before its turn is not stored at all.
      if (change === 'delete' && waiting.has(id)) withdrawn.add(id)
      track(
        arrivals(key, () => record(change, key, id)).catch((error: unknown) =>
          onProblem(change === 'edit' ? 'an edit was not recorded' : 'a deletion was not recorded', error),
        ),
      )
    }
  }

  /** Records the change behind the turns of the conversation. The words are not part of the event: erasing a
   *  message must remove all of them. */
  async function record(change: 'edit' | 'delete', placeKey: string, id: string): Promise<void> {
    const turn = await findTurnAt(store, placeKey, id)
    if (turn === null) return
    const { conversationId } = turn
    const work = turns(`${conversationId}:${turn.branch}`, async () => {
      const stored = await wordsOf(store, turn)
      const type = change === 'edit' ? 'channel_edit' : 'channel_delete'
      await store.addEvents(conversationId, [{ type, data: { message: id, stored } }])
      if (change === 'delete' && settings.onDelete === 'erase' && stored !== null)
        await store.eraseMessages([stored], { by: 'discord', reason: 'deleted in Discord' })
    })
    // Later messages of the place do not wait for it.
    track(work.catch((error: unknown) => onProblem('a change was not recorded', error)))
  }

  async function command(given: IncomingCommand): Promise<void> {
    if (isClosing) return
    const work = runAllowed(given).then(
      answered => given.reply(answered),
      (error: unknown) => {
        onProblem(`/${given.name} failed`, error)
        return given.reply({ text: failureLine(error, 'nothing', secrets) })
      },
    )
    track(work.catch((error: unknown) => onProblem(`the answer to /${given.name} could not be shown`, error)))
    await work.catch(() => undefined)
  }

  function runAllowed(given: IncomingCommand): ReturnType<typeof runCommand> {
    const { place, user } = given
    if (!isAllowed(place, user.id, access)) return Promise.resolve({ text: 'You may not use this bot here.' })
    const key = keyOfPlace(place)
    const origin = { ...given, isPrivate: false, starter: async () => null }
    const deps = {
      store,
      find: () => store.findByKey(key),
      make: () => findPlace(store, origin, false),
      stop: () => stopAnswers(key),
      models: options.models,
      isOwner: owners.includes(user.id),
      releaseAgent: pool.release,
    }
    // Commands that read, and `/stop`, do not wait for a place in the order.
    const isOrdered = !['stop', 'history', 'search'].includes(given.name)
    if (!isOrdered) return runCommand(given, deps)
    return arrivals(key, async () => {
      // It may give the place another conversation, also if it fails half-way.
      lastTargets.delete(key)
      const answered = await runCommand(given, deps)
      const found = await deps.find().catch(() => null)
      if (found) lastTargets.set(key, found)
      return answered
    })
  }

  function stopAnswers(key: string): { readonly running: number; readonly waiting: number } {
    const here = [...running].filter(one => one.placeKey === key)
    for (const { stop } of here) stop.abort('asked' satisfies AnswerStop)
    return { running: here.length, waiting: [...waiting.values()].filter(one => one === key).length }
  }

  async function idle(): Promise<void> {
    while (pending.size > 0) await Promise.allSettled(pending)
  }

  return {
    receive,
    changed,
    command,
    get agents() {
      return pool.size
    },
    idle,
    async close() {
      isClosing = true
      for (const { stop } of running) stop.abort('closing' satisfies AnswerStop)
      await withinMs(idle(), farewellMs)
      await pool.close()
      return savedWithin(store, saveWithinMs)
    },
  }
}

async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}

/** A map of the newest entries. */
function limitedMap<V>(): Pick<Map<string, V>, 'get' | 'has' | 'set' | 'delete'> {
  const map = new Map<string, V>()
  return {
    get: key => map.get(key),
    has: key => map.has(key),
    delete: key => map.delete(key),
    set(key, value) {
      map.delete(key)
      map.set(key, value)
      if (map.size > mostRemembered) map.delete(map.keys().next().value!)
      return map
    },
  }
}
