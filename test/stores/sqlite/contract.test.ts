import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { describeContract } from '../contract.ts'

describeContract({
  name: 'SQLite in memory (S1-43)',
  open: async source => {
    const store = await openSqliteStore(':memory:', { source, indexing: 'manual' })
    return {
      store,
      reopen: { impossible: 'a store in memory has one handle' },
      dispose: () => store.close(),
    }
  },
})

describeContract({
  name: 'SQLite in a file (S3-79)',
  open: async source => {
    const folder = mkdtempSync(join(tmpdir(), 'contract-'))
    const open = () =>
      openSqliteStore(join(folder, 'conversations.db'), { source, durability: 'normal', indexing: 'manual' })
    const store = await open()
    return {
      store,
      reopen: open,
      dispose: async () => {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
})
