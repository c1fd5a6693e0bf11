import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { engines, freshTarget } from '../recorder/engines.ts'
import type { Figures, Giant } from './giants-child.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Very large data, each created and used by a separate process: the cost stays the same as for small data.
 */
const timeout = size({ gate: 120_000, full: 3_600_000 })
/** In the gate the machine is busy with other tests: there the median must hold, in the battery the 99th
 *  percentile. */
const asked = size({ gate: 'p50', full: 'p99' })

/** For the same reason the gate is not strict about milliseconds; other tests count the rows that are read.
 */
const slack = size({ gate: 4, full: 1 })

const run = promisify(execFile)

async function measure(engine: (typeof engines)[number], giant: Giant, count: number): Promise<Figures> {
  const target = await freshTarget(engine)
  // As in production: Node's default heap size.
  const { stdout } = await run(process.execPath, [
    join(import.meta.dirname, 'giants-child.ts'),
    target,
    giant,
    `${count}`,
  ])
  const figures = JSON.parse(stdout) as Figures
  for (const [name, value] of Object.entries(figures))
    note(`${name} (${name === 'memory' ? 'MB' : 'ms'})`, value)
  return figures
}

describe.each(engines)('on %s', engine => {
  it('appends to a conversation of a million messages at the usual cost (R11)', { timeout }, async () => {
    const count = size({ gate: 50_000, full: 1_000_000 })
    note('messages', count)
    const figures = await measure(engine, 'line', count)
    expect(figures[`append ${asked}`]).toBeLessThan(10 * slack)
    expect(figures['window p50']).toBeLessThan(5 * slack)
    expect(figures['wasteful p50']).toBeGreaterThan(3 * figures['window p50']!)
    expect(figures.memory).toBeLessThan(600)
  })

  it('appends to a parent with a hundred thousand children at the usual cost (R11)', {
    timeout,
  }, async () => {
    const count = size({ gate: 2_000, full: 100_000 })
    note('siblings', count)
    const figures = await measure(engine, 'siblings', count)
    expect(figures[`append ${asked}`]).toBeLessThan(10 * slack)
    expect(figures['window p50']).toBeLessThan(5 * slack)
    // The same content repeatedly: a few lookups each, not one for each existing message.
    expect(figures.same).toBeLessThan(10 * slack)
    expect(figures.memory).toBeLessThan(600)
  })

  it('stores, reads and skips a message of 100 MB (R11)', { timeout }, async () => {
    const bytes = size({ gate: 25_000_000, full: 100_000_000 })
    note('bytes', bytes)
    const figures = await measure(engine, 'message', bytes)
    expect(figures['next p50']).toBeLessThan(5 * slack)
    // The first part of a blob has its beginning.
    expect(figures['preview p50']).toBeLessThan(5 * slack)
    expect(figures.memory).toBeLessThan(600)
  })
})
