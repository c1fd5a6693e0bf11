import { expect, it } from 'vitest'
import * as skein from '../src/index.ts'
import * as testing from '../src/stores/contract/index.ts'
import * as postgres from '../src/stores/postgres/index.ts'
import * as sqlite from '../src/stores/sqlite/index.ts'

// A change here is a change of the public API: it belongs into CHANGELOG.md.

it('skein exports these names', () => {
  expect(Object.keys(skein).sort()).toEqual([
    'AmbiguousIdError',
    'BusyError',
    'ConflictError',
    'ContextLengthError',
    'CorruptError',
    'ExpiredError',
    'InvalidError',
    'KeyReusedError',
    'MissingKeyError',
    'ModelError',
    'NotFoundError',
    'OutcomeUnknownError',
    'ReadOnlyError',
    'SchemaTooNewError',
    'SkeinError',
    'StorageFullError',
    'UnavailableError',
    'addUsage',
    'buildForest',
    'byActivity',
    'childrenOf',
    'contentOf',
    'conversationId',
    'estimateTokens',
    'isKnown',
    'messageId',
    'openStore',
    'pathOf',
    'pathTo',
    'subtreeOf',
    'textOf',
    'walkForest',
  ])
})

it('skein/sqlite exports these names', () => {
  expect(Object.keys(sqlite).sort()).toEqual(['openSqliteStore', 'sqliteStore'])
})

it('skein/postgres exports these names', () => {
  expect(Object.keys(postgres).sort()).toEqual(['openPostgresStore', 'postgresStore'])
})

it('skein/testing exports these names', () => {
  expect(Object.keys(testing).sort()).toEqual(['contract', 'runCase'])
})
