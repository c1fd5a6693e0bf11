// Put conversations behind HTTP within a server of your own. `createService` is a function from requests to
// responses: mount it in any server that speaks `fetch`. It opens nothing: stores, agents and tokens are
// yours.

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { openStore } from 'skein'
import { createAgent } from 'skein/agent'
import { scripted } from 'skein/models'
import { createService } from 'skein/server'

await using store = await openStore('.skein/service.db')
await using agent = createAgent({ store, model: scripted(), system: 'Be brief.' })

const service = createService({
  // With PostgreSQL: a store for each tenant.
  storeOf: async () => store,
  agentOf: async () => agent,
  tokens: store,
})

// Only the hash of a token is stored.
const token = `example_${randomBytes(32).toString('base64url')}`
const hash = createHash('sha256').update(token).digest('hex')
await store.addToken({ hash, name: 'example', scopes: ['read', 'write', 'ask'] })

// Your routes and ours in one server.
const server = serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: request =>
    new URL(request.url).pathname.startsWith('/api/')
      ? service.fetch(request)
      : new Response('My application', { status: 200 }),
})
if (!server.listening) await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

console.log(`own: ${await (await fetch(url)).text()}`)
const authorization = `Bearer ${token}`
const found = await fetch(`${url}/api/v1/keys/example:service`, { method: 'PUT', headers: { authorization } })
const { conversation } = (await found.json()) as { conversation: { id: string } }
const turn = await fetch(`${url}/api/v1/conversations/${conversation.id}/turns`, {
  method: 'POST',
  headers: { authorization, 'content-type': 'application/json', accept: 'text/event-stream' },
  body: JSON.stringify({ content: 'my name is Ada' }),
})
console.log(`events: ${[...(await turn.text()).matchAll(/^event: (\w+)/gm)].at(-1)?.[1]}`)
console.log(`without a token: ${(await fetch(`${url}/api/v1/conversations`)).status}`)

await service.close()
server.close()
