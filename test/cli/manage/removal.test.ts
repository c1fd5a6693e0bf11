import fc from 'fast-check'
import { expect, test } from 'vitest'
import { subtreeParts } from '../../../src/cli/manage/removal.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { openStore } from '../../../src/stores/open.ts'
import { forests, planted } from '../forests.ts'

const seed = 1611

test('the count in the question is the number of deleted messages, for any tree', async () => {
  await using store = await openStore(':memory:')
  await fc.assert(
    fc.asyncProperty(forests, fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), async (parents, picks) => {
      const { id, ids } = await planted(store, parents)
      const seqs = [...new Set(picks.map(pick => pick % ids.length))]
      const parts = subtreeParts(await collectPages(page => store.listStretches(id, page)), seqs)
      const counted = parts.reduce((sum, { lo, hi }) => sum + hi - lo + 1, 0)
      const { deleted } = await store.deleteMessages(
        seqs.map(seq => ids[seq]!),
        { recursive: true },
      )
      expect(counted).toBe(deleted)
    }),
    { seed, numRuns: 60 },
  )
})
