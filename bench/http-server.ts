import { createHash } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { conversationJson } from '../src/api/conversation.ts'
import { listConversationsOf } from '../src/api/list-conversations.ts'
import { sectionJson } from '../src/api/message.ts'
import { newMessageOf } from '../src/api/new-message.ts'
import { appendedJson, pageJson } from '../src/api/receipt.ts'
import { appendSchema, listConversationsQuery, listMessagesQuery } from '../src/api/schema/request/index.ts'
import { turnJson } from '../src/api/turn.ts'
import type { Store } from '../src/core/ports.ts'
import type { Turn } from '../src/core/turn.ts'
import { createService, listen } from '../src/server/index.ts'
import { openStore } from '../src/stores/open.ts'
import { isTurnLive } from '../src/system/live-turn.ts'

/** A server of `bench/rows/http.ts`: `ours` is the service, `floor` a handler of node-server with the same
 *  calls of the store, the same schemas and the same JSON, without everything else. Prints its port. */

// The measuring process may be killed: a server must not outlive it.
process.stdin.resume().on('end', () => process.exit(0))
const [name, target, durability] = process.argv.slice(2) as [string, string, 'full' | 'normal']
/** The token of the benchmark. */
const secret = 'skein_benchmark'
const store = await openStore(target, /^postgres(ql)?:/.test(target) ? {} : { durability })
const hash = createHash('sha256').update(secret).digest('hex')
if ((await store.findToken(hash)) === null)
  await store.addToken({ hash, name: 'bench', scopes: ['read', 'write'] })
if (name === 'ours') {
  const service = createService({ storeOf: async () => store, tokens: store })
  console.log((await listen(service, { port: 0 })).port)
} else {
  const server = createAdaptorServer({ fetch: request => bare(store, request) }) as Server
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
}

const isLive = (turn: Turn) => turn.status === 'open' && isTurnLive(turn, Date.now())

/** The handler to compare with. */
async function bare(store: Store, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const id = pathname.split('/')[4]
  if (request.method === 'POST') {
    const { messages } = appendSchema.parse(await request.json())
    const { activeBranch } = await store.getConversation(id!)
    const { head } = await store.getBranch({ conversationId: id!, name: activeBranch })
    const branch = { conversationId: id!, name: activeBranch }
    return jsonOf(appendedJson(await store.append(branch, head, messages.map(newMessageOf))), 201)
  }
  const query = Object.fromEntries(searchParams)
  if (id === undefined) {
    const page = await store.listConversations(listConversationsOf(listConversationsQuery.parse(query)))
    const items = await store.readOverviews(page.items)
    return jsonOf(pageJson({ ...page, items }, one => conversationJson(one, isLive)))
  }
  const { limit = 100 } = listMessagesQuery.parse(query)
  const { model, activeBranch } = await store.getConversation(id)
  const { head } = await store.getBranch({ conversationId: id, name: activeBranch })
  const section = await store.readPathSection(head!, { limit })
  return jsonOf({
    items: sectionJson(section, { model, isLive }),
    path_messages: section.pathMessages,
    turns: section.turns.map(turn => turnJson(turn, isLive)),
    tool_times: [],
  })
}

function jsonOf(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}
