import { expect, it } from 'vitest'
import { z } from 'zod'
import { compatConversationJson, compatMessageJson, compatPromptJson } from '../../src/api/compat.ts'
import { compatConversationSchema } from '../../src/api/schema/index.ts'
import { stocked } from './stocked.ts'

it('maps a conversation to the compatible API: its own fields and those of a list (S2-51)', async () => {
  const { store, messages, turn, listed } = await stocked()
  const overview = {
    conversation: listed,
    branches: 2,
    pathMessages: 4,
    first: messages[0]!,
    last: messages[3]!,
    openTurns: [turn],
    agent: null,
  }
  const compat = compatConversationJson(overview, () => true)
  const { error } = compatConversationSchema.safeParse({
    ...compat,
    messages: messages.map(compatMessageJson),
  })
  expect(error && z.prettifyError(error)).toBeUndefined()
  expect(compat).toMatchObject({
    session_id: listed.id,
    bead_id: 'GW-12',
    project_id: 'gateway',
    token_count: 15,
    message_count: 4,
    expires_at: listed.expiresAt!.toISOString(),
  })
  await store.close()
})

it('maps messages to the compatible API: text, role, tokens and the stored prompt (S2-11, S2-42)', async () => {
  const { store, messages, listed } = await stocked()
  expect(messages.map(compatMessageJson)).toMatchObject([
    { role: 'user', content: 'Use full jitter', token_count: 4, id: messages[0]!.id },
    { role: 'assistant', content: 'I look' },
    { role: 'tool', content: '' },
    { role: 'user', content: '' },
  ])
  expect(compatPromptJson(listed)).toMatchObject({ role: 'system', content: 'Be brief.', id: null })
  await store.close()
})
