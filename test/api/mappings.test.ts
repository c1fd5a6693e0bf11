import { describe, expect, it } from 'vitest'
import { type ZodType, z } from 'zod'
import { branchHeadJson, branchJson } from '../../src/api/branch.ts'
import { conversationJson } from '../../src/api/conversation.ts'
import { eventJson } from '../../src/api/event.ts'
import { activityJson, followEventJson } from '../../src/api/follow-event.ts'
import { messageJson, sectionJson, storedMessageJson } from '../../src/api/message.ts'
import { readBranches } from '../../src/api/read-branches.ts'
import { pageJson } from '../../src/api/receipt.ts'
import {
  activitySchema,
  branchHeadSchema,
  branchSchema,
  conversationSchema,
  eventSchema,
  followEventSchema,
  messageSchema,
  pageSchema,
  statsSchema,
  storedMessageSchema,
  stretchSchema,
  turnSchema,
} from '../../src/api/schema/index.ts'
import { statsJson, statsOf } from '../../src/api/stats.ts'
import { stretchJson } from '../../src/api/stretch.ts'
import { turnJson } from '../../src/api/turn.ts'
import { citation, stocked } from './stocked.ts'

/** Fails with the fields that do not match the schema. Also checks that JSON can represent the value. */
function matches(schema: ZodType, value: unknown): void {
  const { error } = schema.safeParse(JSON.parse(JSON.stringify(value)))
  expect(error && z.prettifyError(error)).toBeUndefined()
}

const always = () => true

describe('the mappings match their schemas', () => {
  it('for a conversation, a branch, a turn, a stretch, an event and statistics', async () => {
    const { store, branch, messages, turn, listed } = await stocked()
    const overview = {
      conversation: listed,
      branches: 2,
      pathMessages: 4,
      first: messages[0]!,
      last: messages[3]!,
      openTurns: [turn],
      agent: null,
    }
    const json = conversationJson(overview, always)
    matches(conversationSchema, json)
    expect(json).toMatchObject({
      live: true,
      task: 'GW-12',
      ttl_ms: 86_400_000,
      last: { text: '(image/png)' },
    })
    matches(
      conversationSchema,
      conversationJson({ ...overview, first: null, last: null }, () => false),
    )
    matches(z.array(branchSchema), (await readBranches(store, listed.id)).map(branchJson))
    matches(branchHeadSchema, branchHeadJson(await store.getBranch(branch)))
    matches(turnSchema, turnJson(turn, always))
    const stretches = await store.listStretches(listed.id)
    matches(pageSchema(stretchSchema), pageJson(stretches, stretchJson))
    await store.addEvents(listed.id, [{ type: 'resume', data: { outcome: 'fresh' } }])
    matches(pageSchema(eventSchema), pageJson(await store.listEvents(listed.id), eventJson))
    matches(statsSchema, statsJson(statsOf(await store.measure(new Date(0)))))
    matches(
      activitySchema,
      activityJson({ cursor: 'x', isReplay: false, conversation: listed }, messages[3]!),
    )
    await store.close()
  })

  it('for every kind of message', async () => {
    const { store, messages, turn, listed } = await stocked()
    for (const message of messages) {
      matches(storedMessageSchema, storedMessageJson(message))
      const facts = { status: 'complete', model: null, usage: null, siblings: [], siblingIds: [] } as const
      matches(messageSchema, messageJson(message, facts))
    }
    const section = { messages, pathMessages: 4, turns: [turn], toolTimes: [] }
    const siblings = [{ messageId: messages[1]!.id, siblings: [messages[1]!.id, messages[2]!.id] }]
    const path = sectionJson({ ...section, siblings }, { model: 'other', isLive: always })
    matches(z.array(messageSchema), path)
    expect(path.map(({ stop, model, usage }) => [stop, model, usage?.input ?? null])).toEqual([
      [null, null, null],
      ['length', 'scripted', 10],
      [null, null, null],
      [null, null, null],
    ])
    expect(path[1]).toMatchObject({ sibling_ids: siblings[0]!.siblings, blocks: [{}, {}, {}, citation] })
    expect(path[3]!.blobs).toMatchObject([{ bytes: 30_000, whole: false }])
    for (const change of [
      { type: 'message', message: messages[0]! },
      { type: 'erased', message: messages[0]! },
      { type: 'turn', turn },
      { type: 'draft', turn, pieces: [{ n: 0, type: 'text', text: 'Hel' }] },
      { type: 'branch', branch: listed.branch },
      { type: 'branches', branches: [listed.branch] },
      { type: 'branch_deleted', name: 'side' },
      { type: 'conversation', conversation: listed },
      { type: 'gone', conversationId: listed.id },
    ] as const)
      matches(followEventSchema, followEventJson(listed.id, change, always))
    await store.close()
  })
})
