import { InvalidError, SkeinError } from '../../core/errors.ts'
import { finishAtOnce } from '../../core/large/stepwise.ts'
import type { Source } from '../../core/source.ts'
import { leaseMs as usualLeaseMs } from '../../core/turn.ts'
import { indexForms, type Program } from '../engine/engine.ts'
import { type BatchResult, type Naming, runBatch } from './batch.ts'
import { leaseClockOf, matchText, type PostgresEngine } from './engine.ts'
import { isLostRace, isMisplaced, stateOf, translate } from './errors.ts'
import type { PostgresClient } from './pool.ts'
import { type BoundStatement, bind, prepare } from './prepared.ts'
import { programRunner } from './run-program.ts'

/** How often a program is run before a lost race is reported to the caller. */
const mostTries = 10

// Without names, as for ROLLBACK in `engine.ts`.
const unnamed = (sql: string) => bind({ ...prepare(sql), name: '' }, {})
const savepoint = unnamed('SAVEPOINT skein')
const release = unnamed('RELEASE SAVEPOINT skein')
const undo = unnamed('ROLLBACK TO SAVEPOINT skein')

export interface JoinedEngineOptions {
  readonly tenant: string
  readonly naming: Naming
  readonly source: Source
  readonly leaseMs?: number
}

/** Runs programs inside the transaction that the application has begun on a client. Each is all or nothing: a
 *  savepoint undoes it after an error, so the transaction stays usable. Never commits and never rolls
 *  back. Calls run one after the other, because a client has one transaction. */
export function joinedEngine(
  client: Pick<PostgresClient, 'query'>,
  { tenant, naming, source, leaseMs = usualLeaseMs }: JoinedEngineOptions,
): PostgresEngine {
  const leaseClock = leaseClockOf(source)
  const { drive } = programRunner(tenant, leaseClock)
  let last: Promise<unknown> = Promise.resolve()
  return {
    tenant,
    source,
    leaseMs,
    leaseClock,
    rowsPerStatement: null,
    isJoined: () => true,
    query: program => run(program),
    read: program => run(program),
    write: program => run(program),
    writeLarge: making => run(finishAtOnce(making).program),
    once: statements => inTurn(() => guarded(naming, statements)),
    appendOnce: (_, statements) => inTurn(() => guarded(naming, statements)),
    inspect: async () => [],
    removeTraces: refuse,
    compact: refuse,
    matchText,
    indexForm: indexForms.pairNumbers,
    close: async () => {},
    isFree: () => false,
    noteUnindexed: () => undefined,
    indexElsewhere: async () => false,
    tidyAfter: 1_024,
  }

  function run<T>(program: () => Program<T>): Promise<T> {
    return inTurn(async () => {
      for (let tries = 1; ; tries++) {
        // A statement that the server of a pooler does not know is sent without a name.
        const named = tries === 1 ? naming : 'unnamed'
        const waiting = [savepoint]
        try {
          const link = { run: (statements: readonly BoundStatement[]) => runBatch(client, statements, named) }
          const result = await drive(program(), link, waiting, { mayWait: true })
          // If nothing was sent, there is nothing to release.
          if (waiting[0] !== savepoint || waiting.length > 1) await link.run([...waiting.splice(0), release])
          return result
        } catch (error) {
          await takeBack(error, waiting[0] !== savepoint)
          if (!(isLostRace(error) || isMisplaced(error)) || tries === mostTries) throw explained(error)
        }
      }
    })
  }

  async function guarded(
    named: Naming,
    statements: readonly BoundStatement[],
  ): Promise<readonly BatchResult[]> {
    try {
      return (await runBatch(client, [savepoint, ...statements, release], named)).slice(1, -1)
    } catch (error) {
      await takeBack(error, true)
      if (named === 'named' && isMisplaced(error)) return guarded('unnamed', statements)
      // The quick statements translate their errors themselves.
      throw isWithoutTransaction(error) ? explained(error) : error
    }
  }

  /** Undoes what was done since the savepoint. An error of the undoing itself is of no interest: the
   *  connection is lost, or there is no transaction. */
  async function takeBack(error: unknown, wasSent: boolean): Promise<void> {
    if (!wasSent || isWithoutTransaction(error)) return
    await runBatch(client, [undo, release], 'unnamed').catch(() => undefined)
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

function isWithoutTransaction(error: unknown): boolean {
  return ['25P01', '25P02'].includes(stateOf(error) ?? '')
}

/** Says what is wrong with the transaction of the caller. */
function explained(error: unknown): unknown {
  if (error instanceof SkeinError) return error
  const state = stateOf(error)
  if (state === '25P01') return new InvalidError('client', 'is not in a transaction: send BEGIN first')
  if (state === '25P02') return new InvalidError('client', 'is in a failed transaction: roll it back')
  return translate(error)
}

async function refuse(): Promise<never> {
  throw new InvalidError('store', 'cannot do this inside a transaction of the application')
}
