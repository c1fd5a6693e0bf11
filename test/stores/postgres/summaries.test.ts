import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { describeSummaries } from '../../context/summary/summary-cases.ts'
import { freshDatabase } from './database.ts'

const database = freshDatabase()

describeSummaries({ name: 'PostgreSQL', open: async source => openPostgresStore(await database, { source }) })
