import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { engines, freshTarget } from '../recorder/engines.ts'
import type { Figures, Giant } from './giants-child.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** Very large things, each made and used by a process of its own: what it takes stays what it is for small ones. */
const timeout = size({ gate: 120_000, full: 3_600_000 })
/** In the gate the machine does other things too: there the middle must hold, in the battery the slowest of a hundred. */
const asked = size({ gate: 'p50', full: 'p99' })

/** For the same reason the gate is not strict about milliseconds; that no more rows are read is counted elsewhere. */
const slack = size({ gate: 4, full: 1 })

const run = promisify(execFile)

async function measure(engine: (typeof engines)[number], giant: Giant, count: number): Promise<Figures> {
  const target = await freshTarget(engine)
  // As in production: no more memory for the heap than Node gives by itself.
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
  it('a million messages in one conversation cost the next one nothing (R11)', { timeout }, async () => {
    const count = size({ gate: 50_000, full: 1_000_000 })
    note('messages', count)
    const figures = await measure(engine, 'line', count)
    expect(figures[`append ${asked}`]).toBeLessThan(10 * slack)
    expect(figures['window p50']).toBeLessThan(5 * slack)
    expect(figures['wasteful p50']).toBeGreaterThan(3 * figures['window p50']!)
    expect(figures.memory).toBeLessThan(600)
  })

  it('a hundred thousand messages under one parent do not slow the next one (R11)', { timeout }, async () => {
    const count = size({ gate: 2_000, full: 100_000 })
    note('siblings', count)
    const figures = await measure(engine, 'siblings', count)
    expect(figures[`append ${asked}`]).toBeLessThan(10 * slack)
    expect(figures['window p50']).toBeLessThan(5 * slack)
    // The same words again and again: a few look-ups each, not as many as there are already.
    expect(figures.same).toBeLessThan(10 * slack)
    expect(figures.memory).toBeLessThan(600)
  })

  it('a message of 100 MB is stored, read and passed by (R11)', { timeout }, async () => {
    const bytes = size({ gate: 25_000_000, full: 100_000_000 })
    note('bytes', bytes)
    const figures = await measure(engine, 'message', bytes)
    expect(figures['next p50']).toBeLessThan(5 * slack)
    // SQLite reads all of a blob to give its beginning: to be seen, and not to be slower than to read it whole.
    expect(figures['preview p50']).toBeLessThan(figures.read!)
    expect(figures.memory).toBeLessThan(600)
  })
})
