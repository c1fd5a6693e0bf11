import { readEvents } from '../../src/client/read-events.ts'
import type { Store } from '../../src/core/ports.ts'
import { seededRandom } from '../battery/random.ts'
import type { TestRequest } from './harness.ts'
import { operations, type Things } from './operations.ts'
import { stock } from './stocked.ts'

/** Operations that name no thing of a tenant. */
export const ofNoThing: ReadonlySet<string> = new Set(
  (
    'listConversations createConversation findOrCreateByKey search getStats exportAll importRecords ' +
    'submitTask listTasks deleteProject listAllApprovals'
  ).split(' '),
)

/** A conversation of every tenant has this id. */
const sharedId = '11111111-1111-4111-8111-111111111111'

/** A tenant whose texts all contain its mark. */
export interface MarkedTenant {
  readonly mark: string
  readonly token: string
  readonly things: Things
}

/** Stores conversations whose texts contain the mark. Names of tasks, keys and turns are the same in every
 *  tenant, and so is the id of one conversation. */
export async function markTenant(store: Store, mark: string, token: string): Promise<MarkedTenant> {
  const things = await stock(store, 'shared-task')
  const branch = { conversationId: things.conversation, name: 'main' }
  await store.updateConversation(things.conversation, { title: mark, metadata: { n: 1, mark } })
  const { head } = await store.getBranch(branch)
  await store.append(branch, head, [{ role: 'user', content: `hello ${mark}` }])
  await store.create({ id: sharedId, title: mark, prompt: mark, key: 'shared-key' })
  return { mark, token, things }
}

/** Sends a request to a path below `/api/v1`. */
export type SendTo = (path: string, request: TestRequest) => Promise<Response>

/** What the requests have found. */
export interface Interleaved {
  readonly requests: number
  /** Responses that show something of the other tenant, or have another status than expected. */
  readonly wrong: readonly string[]
  /** The operations that have shown the mark of their own tenant. */
  readonly told: ReadonlySet<string>
}

/** Sends reads, writes and streams of two tenants at the same time, with their own ids and with each
 *  other's. */
export async function interleave(
  send: SendTo,
  tenants: readonly [MarkedTenant, MarkedTenant],
  { rounds, perRound = 50 }: { readonly rounds: number; readonly perRound?: number },
): Promise<Interleaved> {
  const wrong: string[] = []
  const told = new Set<string>()
  const random = seededRandom(19)
  const reads = Object.entries(operations).filter(([, { scope }]) => scope === 'read')
  const appended = new Map(tenants.map(({ mark }) => [mark, 0]))
  const stop = new AbortController()
  const following = tenants.map(own => followOwn(own))
  await Promise.all(following.map(({ begun }) => begun))
  for (let round = 0; round < rounds; round++)
    await Promise.all(Array.from({ length: perRound }, (_, n) => one(n, random())))
  await Promise.all(following.map(({ complete }) => complete()))
  stop.abort()
  return { requests: rounds * perRound, wrong, told }

  async function one(n: number, chance: number): Promise<void> {
    const [own, other] = n % 2 === 0 ? tenants : [tenants[1], tenants[0]]
    const kind = Math.floor(n / 2) % 5
    if (kind === 0) return write(own, other, chance)
    if (kind === 1) return follow(own, other)
    const [operation, { request }] = reads[Math.floor(chance * reads.length)]!
    const { path, ...sent } = request((kind === 2 ? other : own).things)
    const isOwn = path === request(own.things).path || ofNoThing.has(operation)
    await check(operation, own, other, path, sent, isOwn ? 200 : 404)
  }

  async function write(own: MarkedTenant, other: MarkedTenant, chance: number): Promise<void> {
    const messages = [{ role: 'user', content: `hello ${own.mark}` }]
    const title = { method: 'PATCH', body: { title: own.mark } }
    const shared = `/conversations/${sharedId}`
    const foreign = `/conversations/${other.things.conversation}`
    if (chance < 0.3) {
      await check('append', own, other, `${shared}/messages`, { body: { messages } }, 201)
      appended.set(own.mark, appended.get(own.mark)! + 1)
    } else if (chance < 0.5) await check('update', own, other, shared, title, 200)
    else if (chance < 0.6) {
      const request = { method: 'PUT', body: {} }
      await check('findOrCreate', own, other, '/keys/shared-key', request, 200)
    } else if (chance < 0.8)
      await check('append', own, other, `${foreign}/messages`, { body: { messages } }, 404)
    else await check('update', own, other, foreign, title, 404)
  }

  /** A stream of the own conversation, and one that also names a conversation of the other tenant. */
  async function follow(own: MarkedTenant, other: MarkedTenant): Promise<void> {
    const both = `/follow?conversation=${sharedId}&conversation=${other.things.conversation}`
    await check('follow', own, other, both, {}, 404)
    const response = await send(`/follow?conversation=${sharedId}`, { token: own.token })
    for await (const { data } of readEvents(response.body!)) {
      judge('follow', own, other, data)
      break
    }
  }

  async function check(
    operation: string,
    own: MarkedTenant,
    other: MarkedTenant,
    path: string,
    request: TestRequest,
    status: number,
  ): Promise<void> {
    const response = await send(path, { ...request, token: own.token })
    // A stream that should have been refused does not end by itself.
    const isStream = response.status === 200 && path.startsWith('/follow')
    const text = isStream ? await response.body!.cancel().then(() => '') : await response.text()
    if (response.status !== status)
      wrong.push(`${own.mark} ${operation} ${path}: ${response.status} ${text.slice(0, 200)}`)
    judge(operation, own, other, text)
  }

  /** A text must not have the mark or an id of the other tenant. A refusal may repeat the id that it got. */
  function judge(operation: string, own: MarkedTenant, other: MarkedTenant, text: string): void {
    if (text.includes(own.mark)) told.add(operation)
    const mine = new Set(Object.values(own.things))
    const ids = Object.values(other.things).filter(id => id.length >= 20 && !mine.has(id))
    const isRefusal = text.includes('urn:skein:error:')
    const found = [other.mark, ...(isRefusal ? [] : ids)].find(one => text.includes(one))
    if (found !== undefined) wrong.push(`${own.mark} ${operation}: has ${found}`)
  }

  /** Follows the conversation with the shared id during all requests. */
  function followOwn(own: MarkedTenant) {
    const other = tenants.find(one => one !== own)!
    const begun = Promise.withResolvers<void>()
    let messages = 0
    const reading = (async () => {
      const path = `/follow?conversation=${sharedId}&conversation=${own.things.conversation}`
      const response = await send(path, { token: own.token, signal: stop.signal })
      for await (const { event, data } of readEvents(response.body!)) {
        begun.resolve()
        judge('follow', own, other, data)
        if (event === 'message') messages++
      }
      throw new Error(`the stream has ended with ${response.status}`)
    })().catch(error => {
      if (!stop.signal.aborted) wrong.push(`${own.mark} follow: ${error}`)
      begun.resolve()
    })
    const complete = async () => {
      for (let left = 500; messages < appended.get(own.mark)! && left > 0; left--)
        await Promise.race([reading, new Promise(resolve => setTimeout(resolve, 10))])
      if (messages !== appended.get(own.mark))
        wrong.push(`${own.mark} follow: ${messages} of ${appended.get(own.mark)} messages`)
    }
    return { begun: begun.promise, complete }
  }
}
