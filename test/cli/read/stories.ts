import { join } from 'node:path'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import type { Home } from '../skein.ts'

/** Text that would control a terminal, break a table or change the writing direction. */
export const hostile = 'red \x1b[41m\x1b]0;pwned\x07 \u202eedoc\r tab\there'

const ourColours = [1, 2, 7, 22, 27, 31, 32, 33, 35, 36, 39].map(code => `\x1b[${code}m`)

/** Whether the output contains stored control characters. Our own colours are allowed. */
export function drivesTerminal(output: string): boolean {
  const rest = ourColours.reduce((text, colour) => text.replaceAll(colour, ''), output)
  return /[^\P{Cc}\n\t]|\p{Bidi_Control}/u.test(rest.replaceAll('\r\n', '\n'))
}

export interface Story {
  readonly storm: ConversationId
  readonly other: ConversationId
  readonly elsewhere: ConversationId
  readonly trace: ConversationId
  readonly trashed: ConversationId
  /** The messages of the conversation "storm", by keyword. */
  readonly said: Readonly<
    Record<'why' | 'because' | 'poll' | 'polling' | 'jitter' | 'changes' | 'failed' | 'both', MessageId>
  >
}

const day = 86_400_000

export async function fill(store: Store, directory: string, now: number): Promise<Story> {
  const at = (hoursAgo: number) => new Date(now - hoursAgo * 3_600_000)
  const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
  const model = 'anthropic/claude-sonnet-4-5'

  const elsewhere = await store.create({ directory: '/elsewhere', title: 'Somewhere else' })
  await store.append(elsewhere.branch, null, [
    { role: 'user', content: 'a secure context elsewhere', createdAt: at(3) },
  ])
  const trashed = await store.create({ directory, title: 'Thrown away' })
  await store.trash(trashed.conversation.id)
  const other = await store.create({
    directory,
    title: `Hostile ${hostile}`,
    model: 'gpt-5.2',
    tags: ['work'],
  })
  await store.append(other.branch, null, [
    { role: 'user', content: hostile, createdAt: new Date(now - 9 * day) },
  ])

  const { conversation, branch } = await store.create({
    directory,
    channel: 'cli',
    title: 'Reconnect storm after the certificate reload',
    model,
    key: 'cli:storm',
  })
  const begin = await store.append(
    branch,
    null,
    [
      { role: 'user', content: 'Staging drops every websocket at 02:00. Why?', createdAt: at(30) },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', text: 'Replacing the secure context does not close open sockets.' },
          {
            type: 'text',
            text: 'The certificate reload.\n\n```ts\nserver.reload()\n```\n\nAnd then:\n\n~~~sh\nmake storm\n~~~',
          },
        ],
        createdAt: at(29.9),
      },
    ],
    { turn: { key: '1', step: 0, model, usage: { input: 66_000, output: 1_200, cost: 0.05 } } },
  )
  const poll = await store.append(branch, begin.head, [
    { role: 'user', content: 'Poll instead of push?', createdAt: at(20) },
    { role: 'assistant', content: 'Polling every 15 s costs 4,000 requests.', createdAt: at(19.9) },
  ])
  const fork = await store.createBranch(conversation.id, begin.head, { name: 'full-jitter' })
  await store.activateBranch(fork)
  const jitter = await store.append(
    fork,
    begin.head,
    [
      { role: 'user', content: 'Use full jitter with a 30 s cap.', createdAt: at(2) },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Two changes: the server swaps its secure context in place.' },
          { type: 'tool_call', callId: 'c1', name: 'bash', input: { command: 'npm test -- reconnect' } },
        ],
        createdAt: at(1.9),
      },
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'c1', output: '41 run\n2 of 41 failed', isError: true }],
        createdAt: at(1.8),
      },
      {
        role: 'assistant',
        content: 'Both tests read the wall',
        createdAt: at(1.7),
        metadata: { interrupted: true },
      },
    ],
    { turn: { key: '2', step: 0, status: 'open', holder, model, usage: { input: 74_000, output: 300 } } },
  )
  await store.endTurn(conversation.id, '2', { status: 'interrupted', heldBy: holder })
  const range = { first: begin.ids[0]!, last: begin.ids[1]! }
  await store.claimSummary(conversation.id, range, holder)
  await store.putSummary(conversation.id, {
    ...range,
    holder,
    model: 'claude-haiku-4-5',
    tokens: 610,
    text: 'A storm.',
  })
  const trace = await store.create({
    directory,
    kind: 'subagent',
    label: 'subagent:load-test:7',
    parent: { conversationId: conversation.id, messageId: jitter.ids[1]! },
  })
  await store.append(trace.branch, null, [{ role: 'user', content: 'load test' }])

  return {
    storm: conversation.id,
    other: other.conversation.id,
    elsewhere: elsewhere.conversation.id,
    trace: trace.conversation.id,
    trashed: trashed.conversation.id,
    said: {
      why: begin.ids[0]!,
      because: begin.ids[1]!,
      poll: poll.ids[0]!,
      polling: poll.ids[1]!,
      jitter: jitter.ids[0]!,
      changes: jitter.ids[1]!,
      failed: jitter.ids[2]!,
      both: jitter.ids[3]!,
    },
  }
}

/** Fills the store that the command finds in this home. */
export async function tellStories(here: Home): Promise<Story> {
  await using store = await openStore(join(here.env.XDG_DATA_HOME!, 'skein', 'conversations.db'))
  return await fill(store, here.cwd, Date.now())
}
