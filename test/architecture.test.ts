import { describe, expect, it } from 'vitest'
import { arrows } from './support/rules/arrows.ts'
import { purity } from './support/rules/purity.ts'
import { layout, namedExports, shortFiles, tellingNames } from './support/rules/shape.ts'
import { type Rule, readSources } from './support/rules/source.ts'
import { foreignWord } from './support/rules/words.ts'

const product = readSources('src')
const everything = readSources('src', 'test', 'scripts', 'examples', 'bench')

/** The faults that a rule finds in one file, without the path in front. */
function faults(rule: Rule, path: string, text: string): readonly string[] {
  return rule([{ path, text }]).map(line => line.replace(/^[^ ]*: /, ''))
}

describe('the repository keeps its rules', () => {
  it('has sources to look at', () => {
    expect(product.length).toBeGreaterThan(10)
    expect(everything.length).toBeGreaterThan(product.length)
  })
  it('lets imports follow the arrows between folders (S3-66)', () => expect(arrows(product)).toEqual([]))
  it('does no I/O in core, context and formats', () => expect(purity(product)).toEqual([]))
  it('has only the folders of the layout (S0-39, S3-67)', () => expect(layout(product)).toEqual([]))
  it('says "session" only of other people\'s', () => expect(foreignWord(everything)).toEqual([]))
  it('keeps files below 400 lines', () => expect(shortFiles(everything)).toEqual([]))
  it('exports by name', () => expect(namedExports(everything)).toEqual([]))
  it('names files after what they hold', () => expect(tellingNames(everything)).toEqual([]))
})

describe('the arrows', () => {
  const refused: [from: string, to: string, reason: string][] = [
    ['src/core/a.ts', '../stores/engine/rows.ts', 'only cli chooses a driver'],
    ['src/core/a.ts', '../context/fit.ts', 'core does not know context'],
    ['src/context/a.ts', '../stores/engine/rows.ts', 'only cli chooses a driver'],
    ['src/stores/a.ts', '../context/fit.ts', 'stores does not know context'],
    ['src/models/a.ts', '../formats/b.ts', 'models does not know formats'],
    ['src/recorder/a.ts', '../agent/b.ts', 'recorder does not know agent'],
    ['src/acp/a.ts', '../server/b.ts', 'acp does not know server'],
    ['src/server/a.ts', '../stores/sqlite/index.ts', 'only cli chooses a driver'],
    ['src/server/a.ts', '../cli/main.ts', 'server does not know cli'],
    ['src/index.ts', './cli/main.ts', 'the command is no part of the public API'],
    ['src/cli/a.ts', '../index.ts', 'the public API is for those outside'],
    ['src/cli/a.ts', '../web/b.ts', 'the viewer speaks HTTP only'],
    ['src/web/a.ts', '../core/b.ts', 'the viewer speaks HTTP only'],
    ['src/stores/sqlite/a.ts', '../postgres/b.ts', 'sqlite does not know postgres'],
    ['src/stores/postgres/a.ts', '../sqlite/b.ts', 'postgres does not know sqlite'],
    ['src/stores/sqlite/a.ts', '../open.ts', 'sqlite does not know stores'],
    ['src/stores/engine/a.ts', '../programs/b.ts', 'engine does not know programs'],
    ['src/stores/programs/verify/a.ts', '../../store/b.ts', 'programs does not know store'],
    ['src/stores/check/a.ts', '../engine/b.ts', 'check does not know engine'],
    ['src/testing/contract/a.ts', '../../stores/sqlite/b.ts', 'testing does not know stores'],
    ['src/testing/a.ts', '../models/b.ts', 'testing does not know models'],
    ['src/stores/open.ts', '../testing/contract/a.ts', 'only tests import skein/testing'],
    ['src/cli/a.ts', '../testing/index.ts', 'only tests import skein/testing'],
    ['src/index.ts', './testing/index.ts', 'only tests import skein/testing'],
    ['src/core/a.ts', '../../test/support/a.ts', 'it is not part of the product'],
  ]
  it.each(refused)('refuse that %s imports %s', (from, to, reason) => {
    const found = faults(arrows, from, `import type { x } from '${to}'`)
    expect(found).toEqual([expect.stringMatching(new RegExp(`${reason}$`))])
  })

  const forms = [
    `import '../agent/a.ts'`,
    `export { x } from '../agent/a.ts'`,
    `export type { X } from '../agent/a.ts'`,
    `export * from '../agent/a.ts'`,
    `const x = await import('../agent/a.ts')`,
    `let x: typeof import('../agent/a.ts')`,
    `let x: import('../agent/a.ts').X`,
  ]
  it.each(forms)('see the import in: %s', text => {
    expect(faults(arrows, 'src/core/a.ts', text)).toHaveLength(1)
  })

  it('refuse an import that they cannot read, and the way round by the package name', () => {
    expect(faults(arrows, 'src/cli/a.ts', 'await import(name)')).toEqual(['an import has to name its file'])
    expect(faults(arrows, 'src/cli/a.ts', `import { x } from 'skein/sqlite'`)).toHaveLength(1)
  })

  const allowed: [from: string, to: string][] = [
    ['src/stores/sqlite/a.ts', '../engine/rows.ts'],
    ['src/stores/sqlite/recover/a.ts', '../../store/read-records.ts'],
    ['src/stores/store/store-over.ts', '../check/input.ts'],
    ['src/stores/open.ts', './sqlite/index.ts'],
    ['src/testing/contract/a.ts', '../../core/ports.ts'],
    ['src/testing/index.ts', './contract/b.ts'],
    ['src/agent/a.ts', '../context/fit.ts'],
    ['src/server/a.ts', '../recorder/b.ts'],
    ['src/cli/a.ts', '../stores/sqlite/index.ts'],
    ['src/index.ts', './stores/open.ts'],
    ['src/core/a.ts', 'node:crypto'],
  ]
  it.each(allowed)('let %s import %s', (from, to) => {
    expect(faults(arrows, from, `import { x } from '${to}'`)).toEqual([])
  })
})

describe('core without I/O', () => {
  const refused: [text: string, fault: string][] = [
    [`import { readFileSync } from 'node:fs'`, 'imports node:fs'],
    [`import fs from 'fs'`, 'imports fs'],
    [`import { hash, randomUUID } from 'node:crypto'`, 'imports randomUUID of node:crypto'],
    [`import * as c from 'node:crypto'`, 'imports * of node:crypto'],
    [`import { z } from 'zod'`, 'imports the package zod'],
    ['const home = process.env.HOME', 'uses process'],
    ['const { env } = process', 'uses process'],
    ['console.log(1)', 'uses console'],
    [`await fetch('x')`, 'uses fetch'],
    ['setTimeout(run, 1)', 'uses setTimeout'],
    ['const t = Date.now()', 'uses Date.now'],
    ['const clock = Date.now', 'uses Date.now'],
    ['const d = new Date()', 'uses new Date()'],
    ['const d = Date()', 'uses Date()'],
    ['const n = Math.random()', 'uses Math.random'],
    ['const id = crypto.randomUUID()', 'uses crypto'],
    ['const x = table[process]', 'uses process'],
    ['const x = { process }', 'uses process'],
    ['const x = globalThis.process', 'uses globalThis'],
  ]
  it.each(refused)('refuses: %s', (text, fault) => {
    expect(faults(purity, 'src/core/a.ts', text)).toEqual([fault])
  })

  const allowed = [
    `import { createHash, hash } from 'node:crypto'`,
    `import type { Message } from './message.ts'`,
    'const d = new Date(0)',
    'const n = Math.max(1, 2)',
    '// process, fetch and Date.now() in a comment',
    `const text = 'console.log(process.env)'`,
    'const x = table.process',
    'const x = { process: 1 }',
    'interface Steps { process: number; fetch(): void }',
  ]
  it.each(allowed)('allows: %s', text => expect(faults(purity, 'src/core/a.ts', text)).toEqual([]))

  it('holds for context and formats too, which may have packages', () => {
    expect(faults(purity, 'src/context/a.ts', 'console.log(1)')).toEqual(['uses console'])
    expect(faults(purity, 'src/formats/a.ts', `import 'node:fs'`)).toEqual(['imports node:fs'])
    expect(faults(purity, 'src/context/a.ts', `import { encode } from 'gpt-tokenizer'`)).toEqual([])
  })
  it('leaves the rim alone', () => {
    expect(faults(purity, 'src/cli/a.ts', `import 'node:fs'\nconsole.log(Date.now())`)).toEqual([])
  })
})

describe('the foreign word', () => {
  const refused: [path: string, text: string][] = [
    ['src/core/a.ts', 'const sessionId = 1'],
    ['src/stores/a.ts', '// the SESSION of a user'],
    ['src/server/routes.ts', `route('/sessions')`],
    ['src/cli/a.ts', 'const session = 1'],
    ['examples/a.ts', `say('my session')`],
    ['test/core/a.test.ts', `it('resumes a session')`],
  ]
  it.each(refused)('is refused in %s: %s', (path, text) => {
    expect(foreignWord([{ path, text }])).toHaveLength(1)
  })

  const allowed: [path: string, text: string][] = [
    ['src/acp/host.ts', 'const sessionId = 1'],
    ['src/adapters/a.ts', 'class Session {}'],
    ['src/formats/a.ts', '// a session file'],
    ['src/config/a.ts', `'session_expiration'`],
    ['src/server/compat.ts', `'/sessions'`],
    ['src/cli/options.ts', `'--session <name>'`],
    ['test/acp/host.test.ts', `it('loads a session')`],
  ]
  it.each(allowed)('is allowed in %s: %s', (path, text) => {
    expect(foreignWord([{ path, text }])).toEqual([])
  })
})

describe('the shape of files', () => {
  it('has a limit of 400 lines', () => {
    expect(faults(shortFiles, 'src/a.ts', 'x\n'.repeat(400))).toEqual([])
    expect(faults(shortFiles, 'src/a.ts', 'x\n'.repeat(401))).toEqual(['has 401 lines, 400 are allowed'])
  })
  it('has no default exports and no "export *"', () => {
    expect(faults(namedExports, 'src/a.ts', 'export default 1')).toEqual(['has a default export'])
    expect(faults(namedExports, 'src/a.ts', `export * from './b.ts'`)).toEqual(['has an "export *"'])
    expect(faults(namedExports, 'src/a.ts', `export type * from './b.ts'`)).toEqual(['has an "export *"'])
    expect(faults(namedExports, 'src/a.ts', `export { x } from './b.ts'`)).toEqual([])
  })
  it.each(['src/core/utils.ts', 'src/cli/helpers/a.ts', 'src/a/retry-manager.ts', 'src/common.test.ts'])(
    'has no heap such as %s',
    path => expect(faults(tellingNames, path, '')).toHaveLength(1),
  )
  it.each(['src/core/community.ts', 'src/context/fit.ts'])('has names such as %s', path => {
    expect(faults(tellingNames, path, '')).toEqual([])
  })
  it('has no folder and no file that the layout does not know', () => {
    expect(faults(layout, 'src/services/a.ts', '')).toEqual(['is not in the layout of src/'])
    expect(faults(layout, 'src/main.ts', '')).toEqual(['is not in the layout of src/'])
    expect(faults(layout, 'src/stores/sqlite/a.ts', '')).toEqual([])
    expect(faults(layout, 'src/index.ts', '')).toEqual([])
  })
})
