import BetterSqlite3, { type Database } from 'better-sqlite3'
import { beforeAll, describe, expect, it } from 'vitest'
import { thenDo } from '../../../src/core/large/stepwise.ts'
import type { Engine, Program, StatementCall } from '../../../src/stores/engine/engine.ts'
import { type ListFilter, listFilters } from '../../../src/stores/engine/list-params.ts'
import type { Queries, StatementName } from '../../../src/stores/engine/statements.ts'
import { prepare } from '../../../src/stores/postgres/prepared.ts'
import { queries as postgresQueries } from '../../../src/stores/postgres/queries/index.ts'
import { compileQuery } from '../../../src/stores/sqlite/dialect.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { queries } from '../../../src/stores/sqlite/queries/index.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { contract, runCase } from '../../../src/testing/index.ts'

const names = Object.keys(queries) as StatementName[]

async function freshHandle(): Promise<Database> {
  const db = new BetterSqlite3(':memory:')
  await migrateFile(db)
  return db
}

/** The texts of a statement. A list has one for each set of filters. */
function textsOf(of: Queries, name: StatementName, filters: readonly ListFilter[] = []): string[] {
  const text = of[name]
  return typeof text === 'function' ? [text(filters)] : typeof text === 'string' ? [text] : [...text]
}

describe('the SQL of SQLite', () => {
  it('is accepted by a new schema, statement by statement (S3-68)', async () => {
    const db = await freshHandle()
    const lists = [...listFilters.map(filter => [filter]), listFilters]
    for (const name of names) {
      for (const filters of typeof queries[name] === 'function' ? lists : [[]]) {
        for (const text of textsOf(queries, name, filters)) {
          expect(() => db.prepare(compileQuery(text, () => '?').sql), name).not.toThrow()
        }
      }
    }
    expect(() => db.prepare('SELECT no_such FROM skein_messages')).toThrow('no such column')
  })
})

/** All statements that the programs run for the contract. The contract test reports failures of cases. */
describe('the statements of the programs', () => {
  const asked = new Map<StatementName, Map<string, StatementCall>>()

  beforeAll(async () => {
    // Searches are by far the slowest cases. Other areas run their statements, except for filtered ones.
    const filtered = 'returns the current fields of a conversation'
    const cases = contract.filter(({ area, name }) => area !== 'search' || name === filtered)
    for (const one of cases) await runCase({ name: 'recorded', open: openRecorded }, one).catch(() => {})
  }, 120_000)

  async function openRecorded(source: Engine['source']) {
    const engine = sqliteEngine(await freshHandle(), { source, owned: true })
    const recording: Engine = {
      ...engine,
      query: program => engine.query(() => recorded(program())),
      read: program => engine.read(() => recorded(program())),
      write: (program, durability) => engine.write(() => recorded(program()), durability),
      writeLarge: making =>
        engine.writeLarge(
          thenDo(making, ({ program, values }) => ({ program: () => recorded(program()), values })),
        ),
    }
    const store = storeOver(recording, async () => 1)
    return { store, reopen: { impossible: 'recorded' }, dispose: () => store.close() }
  }

  function* recorded<T>(program: Program<T>): Program<T> {
    let step = program.next()
    while (!step.done) {
      const { params } = step.value
      const name = step.value.name as StatementName
      const kinds = asked.get(name) ?? new Map<string, StatementCall>()
      kinds.set(Object.keys(params).join(), step.value)
      asked.set(name, kinds)
      step = program.next(yield step.value)
    }
    return step.value
  }

  it('are all statements of the vocabulary', () => {
    // Only used for data that cannot be read, in a damaged file.
    const ofDamage = ['rawConversationAt', 'knownConversations', 'rawSeqs', 'blobUsers', 'turnsByKey']
    // Only used by engines behind a network.
    const ofNetwork = ['unindexedMessages', 'scopedCandidates']
    const rare = [...ofDamage, ...ofNetwork]
    expect(names.filter(name => !asked.has(name) && !rare.includes(name))).toEqual([])
  })

  it('have every parameter that the SQL of both dialects names', () => {
    expect(faults((used, given) => used.filter(name => given[name] === undefined))).toEqual([])
  })

  it('have no parameter that neither dialect uses', () => {
    const extra = faults((used, given) => Object.keys(given).filter(name => !used.includes(name)))
    expect(extra).toEqual([
      // The parameters of all lists have one type.
      'countConversations: limit',
      'scopeConversations: limit',
      // The call passes the whole turn.
      ...['branch', 'first', 'holder', 'started_at'].map(name => `updateTurn: ${name}`),
    ])
  })

  /** For each kind of call: the result of `check` on the parameters that are used and given. */
  function faults(check: (used: string[], given: Record<string, unknown>) => string[]): string[] {
    const found = new Set<string>()
    for (const [name, kinds] of asked) {
      for (const { params } of kinds.values()) {
        const { filters, ...given } = params as { filters?: readonly ListFilter[] }
        for (const fault of check(used(name, filters), given)) found.add(`${name}: ${fault}`)
      }
    }
    return [...found].sort()
  }

  /** The engine of PostgreSQL adds them to every call. */
  const ofEngine = ['tenant', 'client_now', 'server_now']

  function used(name: StatementName, filters: readonly ListFilter[] | undefined): string[] {
    const sqlite = textsOf(queries, name, filters).flatMap(text => compileQuery(text, () => '?').names)
    const postgres = textsOf(postgresQueries, name, filters).flatMap(text => prepare(text).params)
    return [...sqlite, ...postgres.map(param => param.name)].filter(param => !ofEngine.includes(param))
  }
})

describe('the query plans of SQLite', () => {
  let db: Database
  beforeAll(async () => {
    db = await freshHandle()
  })

  function planOf(text: string): string[] {
    const { sql, names } = compileQuery(text, () => '?')
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...names.map(() => null))
    return (rows as { detail: string }[]).map(row => row.detail)
  }

  it('never scan a table, except to rebuild, to count and to check', () => {
    const scans = names
      .filter(name => typeof queries[name] !== 'function')
      .flatMap(name =>
        textsOf(queries, name)
          .flatMap(planOf)
          .map(line => `${name}: ${line}`),
      )
      .filter(line => /SCAN skein_\w+$/.test(line))
    expect(scans).toEqual([
      'resetIndexed: SCAN skein_conversations',
      // There are few tokens.
      'listTokens: SCAN skein_tokens',
      'messageTotal: SCAN skein_conversations',
    ])
  })

  it('are compiled once, not for each limit', () => {
    const compiledOften = names.filter(name =>
      textsOf(queries, name, ['living']).some(text => /\bLIMIT\s+@/i.test(text)),
    )
    expect(compiledOften).toEqual([])
  })

  const seq = 'USING INDEX skein_messages_seq'
  const range = '(conv=? AND first>? AND first<?)'
  it.each<[StatementName, string[]]>([
    [
      'lockBranch',
      [
        'SEARCH c USING INDEX sqlite_autoindex_skein_conversations_1 (id=?)',
        'SEARCH t USING PRIMARY KEY (conv=? AND key=?)',
        'SEARCH t USING COVERING INDEX skein_turns_open (conv=? AND branch=?)',
      ],
    ],
    ['conversationByKey', ['SEARCH b USING COVERING INDEX skein_branches_key (key=?)']],
    ['foundByKey', ['SEARCH b USING INDEX skein_branches_key (key=?)']],
    ['branchOf', ['SEARCH c USING COVERING INDEX sqlite_autoindex_skein_conversations_1 (id=?)']],
    ['conversationByTask', ['SEARCH skein_conversations USING INDEX skein_conversations_task (task=?)']],
    [
      'expiredTasks',
      ['SEARCH skein_conversations USING INDEX skein_conversations_expiry (expires_at>? AND expires_at<?)'],
    ],
    ['openTurnOn', ['SEARCH skein_turns USING INDEX skein_turns_open (conv=? AND branch=?)']],
    ['openTurnRecords', ['SEARCH skein_turns USING INDEX skein_turns_open (conv=?)']],
    ['openTurns', ['SEARCH skein_turns USING INDEX skein_turns_open (conv=?)']],
    ...(['listTurns', 'listTurnsDown', 'rawTurns', 'turnEndingAt'] as const).map(
      (name): [StatementName, string[]] => [
        name,
        [expect.stringMatching(/USING INDEX skein_turns_first \(conv=\? AND first>\?/)],
      ],
    ),
    ...(['listStoppedTurns', 'listStoppedTurnsDown'] as const).map((name): [StatementName, string[]] => [
      name,
      [`SEARCH skein_turns USING INDEX skein_turns_stopped ${range}`],
    ]),
    ['locate', ['SEARCH m USING INDEX skein_messages_id (id=?)']],
    ['toolEvents', ['SEARCH e USING INDEX skein_events_tools (<expr>=?)']],
    ['turnsAt', ['SEARCH t USING INDEX skein_turns_first (conv=? AND first>? AND first<?)']],
    ['messagesByPrefix', ['SEARCH m USING INDEX skein_messages_id (id>? AND id<?)']],
    [
      'path',
      [
        'SEARCH h USING INDEX skein_messages_id (id=?)',
        `SEARCH f ${seq} (conv=? AND seq=?)`,
        `SEARCH p ${seq} (conv=? AND seq=?)`,
        `SEARCH m ${seq} (conv=? AND seq>? AND seq<?)`,
      ],
    ],
    [
      'tail',
      [
        'SEARCH h USING INDEX skein_messages_id (id=?)',
        `SEARCH f ${seq} (conv=? AND seq=?)`,
        `SEARCH p ${seq} (conv=? AND seq=?)`,
        `SEARCH m ${seq} (conv=? AND seq>? AND seq<?)`,
      ],
    ],
    ['listMessages', [`SEARCH m ${seq} (conv=? AND seq>? AND seq<?)`]],
    ['listMessagesDown', [`SEARCH m ${seq} (conv=? AND seq>? AND seq<?)`]],
    [
      'stretches',
      [
        `SEARCH m ${seq} (conv=? AND seq=?)`,
        'SEARCH f USING INDEX skein_messages_fork (conv=? AND parent_seq>?)',
        `SEARCH g ${seq} (conv=? AND seq=?) LEFT-JOIN`,
        `SEARCH y ${seq} (conv=? AND seq=?)`,
        'SEARCH x USING COVERING INDEX skein_messages_seq (conv=? AND seq<?)',
        'SEARCH x USING COVERING INDEX skein_messages_seq (conv=? AND seq>?)',
      ],
    ],
    ['runParents', [`SEARCH f ${seq} (conv=? AND seq=?)`, `SEARCH p ${seq} (conv=? AND seq=?) LEFT-JOIN`]],
    [
      'runStarts',
      ['SEARCH skein_messages USING INDEX skein_messages_fork (conv=? AND (parent_seq,seq)>(?,?))'],
    ],
    ['children', ['SEARCH skein_messages USING INDEX skein_messages_fork (conv=? AND parent_seq=?)']],
    [
      'candidates',
      [
        'SCAN skein_search VIRTUAL TABLE INDEX 192:M1><',
        'SEARCH s USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH m USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH c USING INTEGER PRIMARY KEY (rowid=?)',
      ],
    ],
  ])('use the intended index for %s (S1-16, S2-15, S2-16, S2-59, S3-13)', (name, lines) => {
    expect(textsOf(queries, name).flatMap(planOf)).toEqual(expect.arrayContaining(lines))
  })

  it('find the conversations of a label by its index', () => {
    const plan = textsOf(queries, 'listConversations', ['living', 'label_prefix']).flatMap(planOf)
    expect(plan).toContain(
      'SEARCH skein_conversations USING COVERING INDEX skein_conversations_label (label>? AND label<?)',
    )
    expect(plan).toContain('SEARCH c USING INTEGER PRIMARY KEY (rowid=?)')
  })

  it.each<[ListFilter[], string]>([
    [[], 'SCAN c USING INDEX skein_conversations_recent'],
    [['updated_from'], 'SEARCH c USING INDEX skein_conversations_recent (updated_at>?)'],
    [['after'], 'SEARCH c USING INDEX skein_conversations_recent ((updated_at,id)<(?,?))'],
    [['directory'], 'SEARCH c USING INDEX skein_conversations_directory (directory=?)'],
    [['channel'], 'SEARCH c USING INDEX skein_conversations_channel (channel=?)'],
    [
      ['project', 'after'],
      'SEARCH c USING INDEX skein_conversations_project (project=? AND (updated_at,id)<(?,?))',
    ],
  ])('read newest first and stop for lists filtered by %j (S2-17)', (filters, line) => {
    const plan = textsOf(queries, 'listConversations', ['living', ...filters]).flatMap(planOf)
    expect(plan).toContain(line)
    expect(plan.filter(step => step.includes('ORDER BY'))).toEqual([])
  })

  it('jump from directory to directory in the index, and only within the wanted one', () => {
    const plan = textsOf(queries, 'listDirectories', ['living', 'within']).flatMap(planOf)
    const step = 'SEARCH c USING INDEX skein_conversations_directory (directory>? AND directory<?)'
    expect(plan.filter(line => line === step)).toHaveLength(2)
    expect(plan.filter(step => step.includes('ORDER BY'))).toEqual([])
  })
})
