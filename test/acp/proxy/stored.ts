import { join } from 'node:path'
import { vi } from 'vitest'
import { dataFolder } from '../../../src/cli/store/store-location.ts'
import { collectPages } from '../../../src/core/pages.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import type { Stage } from '../agents/harness.ts'

/** The store of the command on a stage. */
export function storeOf({ env }: Pick<Stage, 'env'>): Promise<Store> {
  return openStore(join(dataFolder(env), 'conversations.db'))
}

/** Waits until this text of an answer that still arrives is stored: drafts are written after 200 ms. */
export async function untilDrafted(stage: Pick<Stage, 'env'>, text: string): Promise<void> {
  await using store = await storeOf(stage)
  await vi.waitUntil(async () => (await draftsOf(store)).includes(text), { timeout: 10_000, interval: 20 })
}

async function draftsOf(store: Store): Promise<string> {
  const { items } = await store.listConversations()
  let text = ''
  for (const { id } of items) {
    for (const { key } of await collectPages(page => store.listTurns(id, { status: 'open', ...page })))
      for (const piece of await collectPages(page => store.readDraft(id, key, page))) text += piece.text
  }
  return text
}
