import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../src/system/find-program.ts'

describe('a program in PATH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-path-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const [first, second] = ['first', 'second'].map(name => join(folder, name))
  for (const one of [first!, second!]) mkdirSync(one)
  writeFileSync(join(second!, 'tool'), '#!/bin/sh\n', { mode: 0o755 })
  writeFileSync(join(second!, 'text'), 'not a program')
  mkdirSync(join(second!, 'folder'))
  const env = { PATH: [first, join(folder, 'missing'), second].join(delimiter) }

  it('is found in the folder that has it', () => {
    expect(findProgram('tool', env)).toBe(join(second!, 'tool'))
    expect(findProgram(join(second!, 'tool'), {})).toBe(join(second!, 'tool'))
  })

  it('is neither a file without permission nor a folder', () => {
    for (const name of ['text', 'folder', 'absent']) expect(findProgram(name, env), name).toBeNull()
  })

  it('is looked for elsewhere if a folder may not be read', () => {
    chmodSync(first!, 0)
    expect(findProgram('tool', env)).toBe(join(second!, 'tool'))
    // A file in place of a folder fails in the same way, also for root.
    expect(findProgram('tool', { PATH: `${join(second!, 'text')}${delimiter}${second}` })).not.toBeNull()
    chmodSync(first!, 0o700)
  })
})
