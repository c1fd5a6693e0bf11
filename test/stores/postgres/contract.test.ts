import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { describeContract } from '../contract.ts'
import { freshDatabase } from './database.ts'

const url = await freshDatabase()
let tenants = 0

describeContract({
  name: 'PostgreSQL',
  open: async source => {
    // A tenant is equivalent to a database of its own, and this tests it.
    const tenant = `tenant ${++tenants}`
    const open = () => openPostgresStore(url, { source, tenant, indexing: 'manual', pool: { max: 4 } })
    const store = await open()
    return { store, reopen: open, dispose: () => store.close() }
  },
})
