import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { demoLines } from '../../../src/cli/model/demo-notes.ts'
import { memoryOutput } from '../memory-output.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'skein-notes-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const noon = Date.parse('2026-11-17T12:00:00')
const day = 86_400_000

function lines(isTerminal: boolean, time: number, options: { incognito?: boolean; path?: string } = {}) {
  const err = { ...memoryOutput(), isTerminal }
  return demoLines(
    { env: { HOME: home, PATH: options.path ?? '' }, err, now: () => time },
    { isIncognito: options.incognito ?? false },
  ).join('\n')
}

it('welcomes once on a terminal, and prints the note once a day after that', () => {
  expect(lines(false, noon)).toMatch(/^! no key set: this is the built-in demo model/)
  expect(lines(false, noon)).toBe('')
  const first = lines(true, noon)
  expect(first).toMatch(/^Skein keeps what you and your AI agents say/)
  expect(first.replaceAll(/\s+/g, ' ')).toMatch(
    /export ANTHROPIC_API_KEY=\S+ or: skein config keys set anthropic/,
  )
  expect(first).toContain('All else works without a key.')
  expect(lines(true, noon + 60_000)).toBe('')
  expect(lines(true, noon + day)).toMatch(/^! no key set: this is the built-in demo model/)
  expect(lines(true, noon + day)).toBe('')
})

it('names the agents that are installed', () => {
  const programs = join(home, 'bin')
  mkdirSync(programs)
  for (const name of ['codex', 'claude', 'gemini']) writeFileSync(join(programs, name), '')
  for (const name of ['codex', 'claude']) chmodSync(join(programs, name), 0o755)
  const said = lines(true, noon, { path: `/nowhere:${programs}` }).replaceAll(/\s+/g, ' ')
  expect(said).toContain(
    'Also here: Claude Code, Codex. With a memory: skein agent claude, skein agent codex',
  )
  expect(said).not.toContain('gemini')
})

it('remembers nothing of an incognito run', () => {
  expect(lines(true, noon, { incognito: true })).toMatch(/^Skein keeps/)
  expect(lines(true, noon)).toMatch(/^Skein keeps/)
})
