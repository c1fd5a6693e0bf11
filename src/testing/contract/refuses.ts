import { strict as assert } from 'node:assert'
import type { BranchRef } from '../../core/branch.ts'
import type { InvalidError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import { rejects, say, startConversation } from './build.ts'

export type StartedConversation = Awaited<ReturnType<typeof startConversation>>

/** An invalid value, and the field that the error must name. */
export type BadInput = readonly [field: string | RegExp, value: unknown]

/** Asserts that each invalid input is refused with its field, and that nothing was written. */
export async function refuses(
  store: Store,
  bad: readonly BadInput[],
  call: (place: StartedConversation, value: never) => Promise<unknown>,
): Promise<void> {
  const place = await startConversation(store)
  const before = await snapshot(store, place.branch)
  for (const [field, value] of bad) {
    const error = await rejects<InvalidError>(call(place, value as never), 'invalid')
    if (typeof field === 'string') assert.equal(error.field, field, error.message)
    else assert.match(error.field, field, error.message)
  }
  assert.deepEqual(await snapshot(store, place.branch), before)
  const { head } = await store.append(place.branch, place.ids[2], [say('continued')])
  assert.equal((await store.getMessages([head]))[0]?.seq, 3)
}

async function snapshot(store: Store, ref: BranchRef) {
  return {
    conversation: await store.getConversation(ref.conversationId),
    branches: await collectPages(page => store.listBranches(ref.conversationId, page)),
    turns: await collectPages(page => store.listTurns(ref.conversationId, page)),
    messages: (await store.listMessages({ conversationId: ref.conversationId })).items.length,
    conversations: await store.countConversations(),
  }
}
