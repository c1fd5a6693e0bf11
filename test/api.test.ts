import { expect, it } from 'vitest'
import * as acp from '../src/acp/index.ts'
import * as aiSdk from '../src/adapters/ai-sdk/index.ts'
import * as agent from '../src/agent/index.ts'
import * as client from '../src/client/index.ts'
import * as context from '../src/context/index.ts'
import * as maintenance from '../src/core/maintenance.ts'
import * as tree from '../src/core/tree.ts'
import * as formats from '../src/formats/index.ts'
import * as skein from '../src/index.ts'
import * as mcp from '../src/mcp/index.ts'
import * as models from '../src/models/index.ts'
import * as recorder from '../src/recorder/index.ts'
import * as server from '../src/server/index.ts'
import * as driver from '../src/stores/driver.ts'
import * as postgres from '../src/stores/postgres/index.ts'
import * as sqlite from '../src/stores/sqlite/index.ts'
import * as testing from '../src/testing/index.ts'

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
    'MisconfiguredError',
    'MissingKeyError',
    'ModelError',
    'NotFoundError',
    'OutcomeUnknownError',
    'OwnedError',
    'ReadOnlyError',
    'SchemaTooNewError',
    'SkeinError',
    'StorageFullError',
    'UnavailableError',
    'collectPages',
    'contentOf',
    'conversationId',
    'isKnown',
    'itemsOf',
    'messageId',
    'openStore',
    'otherOf',
    'pathOf',
    'textOf',
  ])
})

it('skein/driver exports these names', () => {
  expect(Object.keys(driver).sort()).toEqual([
    'finishAtOnce',
    'finishInTurns',
    'hashMessage',
    'indexTokens',
    'prepareMessages',
    'runProgram',
    'sha256Hex',
    'sqliteDialect',
    'storeOver',
    'systemSource',
    'tokenize',
    'withIndexing',
  ])
})

it('skein/client exports these names', () => {
  expect(Object.keys(client).sort()).toEqual(['ServiceError', 'createClient'])
})

it('skein/mcp exports these names', () => {
  expect(Object.keys(mcp)).toEqual(['createMcpEndpoint'])
})

it('skein/server exports these names', () => {
  expect(Object.keys(server).sort()).toEqual(['createService', 'defaultPort', 'listen'])
})

it('skein/formats exports these names', () => {
  expect(Object.keys(formats).sort()).toEqual(['decodeNative', 'encodeNative', 'takeIn'])
})

it('skein/tree exports these names', () => {
  expect(Object.keys(tree).sort()).toEqual([
    'buildForest',
    'byActivity',
    'childrenOf',
    'pathTo',
    'subtreeOf',
    'walkForest',
  ])
})

it('skein/maintenance exports these names', () => {
  expect(Object.keys(maintenance).sort()).toEqual([
    'PreconditionFailedError',
    'copyAsNewConversation',
    'countDependents',
  ])
})

it('skein/sqlite exports these names', () => {
  expect(Object.keys(sqlite).sort()).toEqual(['openSqliteStore', 'sqliteStore'])
})

it('skein/postgres exports these names', () => {
  expect(Object.keys(postgres).sort()).toEqual(['endDeadConnections', 'openPostgresStore', 'postgresStore'])
})

it('skein/testing exports these names', () => {
  expect(Object.keys(testing).sort()).toEqual(['contract', 'runCase'])
})

it('skein/context exports these names', () => {
  expect(Object.keys(context).sort()).toEqual([
    'asText',
    'estimateTokens',
    'exactCounter',
    'fit',
    'needsSummary',
    'readContext',
    'readHistory',
    'repair',
    'summarize',
    'windowOf',
  ])
})

it('skein/agent exports these names', () => {
  expect(Object.keys(agent).sort()).toEqual([
    'allowTools',
    'approvalMemory',
    'codingTools',
    'createAgent',
    'nextContext',
    'openMcpTools',
    'recallTools',
    'subagent',
    'tool',
  ])
})

it('skein/acp exports these names', () => {
  expect(Object.keys(acp).sort()).toEqual([
    'agentName',
    'allowPermission',
    'createHost',
    'refusePermission',
    'startProxy',
  ])
})

it('skein/ai-sdk exports these names', () => {
  expect(Object.keys(aiSdk).sort()).toEqual(['recordTo'])
})

it('skein/models exports these names', () => {
  expect(Object.keys(models).sort()).toEqual([
    'addUsage',
    'modelOf',
    'openModel',
    'plainDialect',
    'priceOf',
    'pricesAsOf',
    'retried',
    'scripted',
  ])
})

it('skein/recorder exports these names', () => {
  expect(Object.keys(recorder).sort()).toEqual([
    'allSaved',
    'beginTurn',
    'defaultLimits',
    'systemRecorderSource',
    'takeOver',
    'thisHolder',
    'unsavedIn',
  ])
})
