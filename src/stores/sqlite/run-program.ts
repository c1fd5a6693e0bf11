import type { Database, Statement } from 'better-sqlite3'
import type { Answer, Call, Program } from '../engine/engine.ts'
import { compileQuery } from '../engine/query.ts'
import type { ListParams } from '../engine/statements.ts'
import { queries } from './queries/index.ts'

interface Prepared {
  readonly statement: Statement
  readonly names: readonly string[]
  readonly isReader: boolean
}

const nothing: readonly unknown[] = []
const none: Answer = { rows: nothing, changes: 0 }

/** Runs calls on a handle. Each statement is prepared once: not doing so doubles the cost of an append. */
export function caller(db: Database): (call: Call) => Answer {
  const prepared = new Map<string, readonly Prepared[]>()

  return call => {
    const params = call.params as Record<string, unknown>
    let answer = none
    for (const { statement, names, isReader } of prepare(call)) {
      const values = names.map(name => bindable(params[name]))
      answer = isReader
        ? { rows: statement.all(...values), changes: 0 }
        : { rows: nothing, changes: statement.run(...values).changes }
    }
    return answer
  }

  function prepare({ name, params }: Call): readonly Prepared[] {
    const text = queries[name]
    const filters = typeof text === 'function' ? (params as ListParams).filters : []
    const key = filters.length > 0 ? `${name} ${filters.join(' ')}` : name
    const known = prepared.get(key)
    if (known) return known
    const texts = typeof text === 'function' ? [text(filters)] : typeof text === 'string' ? [text] : text
    const made = texts.map(one => {
      const { sql, names } = compileQuery(one, () => '?')
      // A handle that was lent to us may give BigInts for its owner.
      const statement = db.prepare(sql).safeIntegers(false)
      return { statement, names, isReader: statement.reader }
    })
    prepared.set(key, made)
    return made
  }
}

/** Lists go in as JSON, for `json_each`. */
function bindable(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value
}

/** Runs a program to its end, statement by statement. */
export function runToEnd<T>(program: Program<T>, call: (call: Call) => Answer): T {
  let step = program.next()
  while (!step.done) step = program.next(call(step.value))
  return step.value
}
