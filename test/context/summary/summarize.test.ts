import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { describeSummaries } from './summary-cases.ts'

describeSummaries({ name: 'SQLite', open: source => openSqliteStore(':memory:', { source }) })
