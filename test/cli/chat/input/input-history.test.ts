import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { forgetInputs, openInputHistory } from '../../../../src/cli/chat/input/input-history.ts'

let folder: string
const file = () => join(folder, 'typed-lines')
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skein-history-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('keeps lines by project, and has those of all projects for a search', () => {
  openInputHistory(file(), '/one').add('first')
  openInputHistory(file(), '/two').add('second')
  const { lines, all } = openInputHistory(file(), '/one')
  expect([lines, all]).toEqual([['first'], ['first', 'second']])
})

it('reads lines from before projects were recorded, and keeps them when others are removed', () => {
  writeFileSync(file(), '"old"\n"secret"\nnot JSON\n{"text":1}\n')
  openInputHistory(file(), '/one').add('new')
  expect(openInputHistory(file(), '/two').lines).toEqual(['old', 'secret'])
  expect(forgetInputs(file(), new Set(['secret']))).toBe(1)
  expect(readFileSync(file(), 'utf8')).toBe('"old"\n{"text":"new","project":"/one"}\n')
})

it('forgets the oldest lines of a long file', () => {
  appendFileSync(file(), Array.from({ length: 10_001 }, (_, n) => `"line ${n}"\n`).join(''))
  expect(openInputHistory(file(), '/one').all).toHaveLength(5_000)
  expect(readFileSync(file(), 'utf8').split('\n')).toHaveLength(5_001)
})
