// A chat with several users. Each user has a process of its own here; a web application would have a handler
// for each connection. Every user follows the room and sees each message once, from any process; events of
// type `draft` have an answer while it arrives. A user who returns continues behind the last event.

import { openStore, textOf } from 'skein'
import { createAgent } from 'skein/agent'
import { scripted } from 'skein/models'

const file = 'chat-room.db'
const room = 'room:lobby'

/** What one user sees, until `messages` messages have come. Returns the cursor to continue with. */
async function follow(user: string, messages: number, after?: string): Promise<string> {
  await using store = await openStore(file)
  const { conversation } = await store.findOrCreate(room)
  const stop = new AbortController()
  let [cursor, seen] = [after ?? '', 0]
  for await (const event of store.follow(conversation.id, {
    signal: stop.signal,
    ...(after !== undefined && { after }),
  })) {
    cursor = event.cursor
    if (event.type === 'branches') joined.get(user)?.()
    if (event.type !== 'message') continue
    const author = event.message.metadata?.author as { name: string } | undefined
    console.log(`${user} sees ${author?.name ?? 'the agent'}: ${textOf(event.message)}`)
    if (++seen === messages) stop.abort()
  }
  return cursor
}

/** Resolved when a user follows the room. */
const joined = new Map<string, () => void>()
const joining = (user: string) => new Promise<void>(resolve => joined.set(user, resolve))

// One process has the agent. Names are told to the model, and never stored in the words.
await using store = await openStore(file)
await using agent = createAgent({
  store,
  speakers: true,
  model: scripted({ script: () => 'Welcome, both of you.' }),
})
const say = (name: string, content: string) =>
  agent.ask(room, { role: 'user', content, metadata: { author: { id: name.toLowerCase(), name } } })

// A follower does not keep a process alive; the server of an application does.
const alive = setInterval(() => {}, 1_000)

const ready = Promise.all([joining('Ada'), joining('Bob')])
const [ada, bob] = [follow('Ada', 2), follow('Bob', 1)]
await ready
await say('Ada', 'Hello from Ada')
const left = await bob // Bob has seen one message, and leaves
await ada

await say('Bob', 'I am back')
await follow('Bob', 3, left) // the answer that he missed, his own words, and the next answer

// The lists and searches of one room, however many rooms there are.
const { items } = await store.search('welcome', { keyPrefix: 'room:lobby' })
console.log(`found: ${items.length > 0}`)
clearInterval(alive)
