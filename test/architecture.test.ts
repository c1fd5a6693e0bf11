import { describe, expect, it } from 'vitest'
import { arrows } from './support/rules/arrows.ts'
import { folderCycles, oneImporterShare, quickTests } from './support/rules/graph.ts'
import {
  knownArrows,
  knownCycles,
  knownTypeNames,
  knownValueNames,
  mostOneImporterPercent,
} from './support/rules/known.ts'
import { type SharedName, sharedNames } from './support/rules/names.ts'
import { purity } from './support/rules/purity.ts'
import { layout, namedExports, narrowPorts, shortFiles, tellingNames } from './support/rules/shape.ts'
import { type Rule, readSources } from './support/rules/source.ts'
import { noWholeLists, wholeListReasons } from './support/rules/whole-lists.ts'
import { foreignWord } from './support/rules/words.ts'

const everything = readSources('src', 'test', 'scripts', 'examples', 'bench')
const product = everything.filter(({ path }) => path.startsWith('src/'))

/** The faults that a rule finds in one file, without the path in front. */
function faults(rule: Rule, path: string, text: string): readonly string[] {
  return rule([{ path, text }]).map(line => line.replace(/^[^ ]*: /, ''))
}

/** Compares faults with the known ones. `fault` has to be corrected; `stale` is not a fault any more and has
 *  to be deleted from `test/support/rules/known.ts`. */
function compare(found: readonly string[], known: readonly string[]) {
  return {
    fault: found.filter(one => !known.includes(one)),
    stale: known.filter(one => !found.includes(one)),
  }
}
const nothing = { fault: [], stale: [] }

/** `src/a.ts: may not import src/b.ts: …` without the reason. */
function importOf(fault: string): string {
  return fault.replace(/^(\S+): may not import (\S+): .*$/, '$1 → $2')
}

describe('the repository keeps its rules', () => {
  it('has sources to look at', () => {
    expect(product.length).toBeGreaterThan(10)
    expect(everything.length).toBeGreaterThan(product.length)
  })
  it('lets imports follow the arrows between folders (S3-66)', () => {
    expect(compare(arrows(product).map(importOf), knownArrows)).toEqual(nothing)
  })
  it('has no cycles between folders', () => {
    expect(compare(folderCycles(product), knownCycles)).toEqual(nothing)
  })
  it('has one meaning for each exported type', () => {
    const found = sharedNames(product).filter(({ isType }) => isType)
    expect(compare(found.map(textOf), known(found, knownTypeNames))).toEqual(nothing)
  })
  it('has one meaning for each exported name', () => {
    const found = sharedNames(product).filter(({ isType }) => !isType)
    expect(compare(found.map(textOf), known(found, knownValueNames))).toEqual(nothing)
  })
  const { share, list } = oneImporterShare(product)
  it(`has few files with a single importer: ${(share * 100).toFixed(1)} %`, () => {
    expect(share * 100, list.join('\n')).toBeLessThanOrEqual(mostOneImporterPercent)
  })
  it('uses no PostgreSQL in the tests of core, context, config, models, formats and system', () => {
    expect(quickTests(everything)).toEqual([])
  })
  it('does no I/O in core, api, context and formats', () => expect(purity(product)).toEqual([]))
  it('has only the folders of the layout (S0-39, S3-67)', () => expect(layout(product)).toEqual([]))
  it('uses the word "session" only for the sessions of other programs', () =>
    expect(foreignWord(everything)).toEqual([]))
  it('gives each consumer of a store the narrowest port (S3-37)', () =>
    expect(narrowPorts(product)).toEqual([]))
  it('reads lists page by page, except where a reason is given', () => {
    const found = new Set(noWholeLists(product).map(fault => fault.replace(/: .*$/, '')))
    expect(compare([...found], Object.keys(wholeListReasons))).toEqual(nothing)
  })
  it('keeps files below 400 lines (S0-52)', () => expect(shortFiles(everything)).toEqual([]))
  it('exports by name', () => expect(namedExports(everything)).toEqual([]))
  it('names files after their contents', () => expect(tellingNames(everything)).toEqual([]))
})

/** With its files, for the person who reads the failure. */
function textOf({ name, files }: SharedName): string {
  return `${name}: ${files.join(', ')}`
}

/** Known names in the form of `textOf`, if they are still shared. */
function known(found: readonly SharedName[], names: readonly string[]): readonly string[] {
  return names.map(name => {
    const one = found.find(shared => shared.name === name)
    return one ? textOf(one) : name
  })
}

describe('the arrows between folders', () => {
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
    ['src/core/a.ts', '../system/b.ts', 'core does not know system'],
    ['src/recorder/a.ts', '../models/b.ts', 'recorder does not know models'],
    ['src/recorder/a.ts', '../context/b.ts', 'recorder does not know context'],
    ['src/formats/native/a.ts', '../../system/b.ts', 'formats does not know system'],
    ['src/api/a.ts', '../system/b.ts', 'api does not know system'],
    ['src/api/schema/a.ts', '../../context/b.ts', 'api does not know context'],
    ['src/client/a.ts', '../server/b.ts', 'client does not know server'],
    ['src/client/a.ts', '../system/b.ts', 'client does not know system'],
    ['src/acp/wire/a.ts', '../../agent/b.ts', 'acp/wire does not know agent'],
    ['src/acp/a.ts', '../adapters/ai-sdk/b.ts', 'acp does not know adapters'],
    ['src/cli/a.ts', '../stores/programs/sweep.ts', 'cli uses a store through its port'],
    ['src/cli/read/a.ts', '../../stores/sqlite/queries.ts', 'cli uses a store through its port'],
    ['src/index.ts', './cli/main.ts', 'the command is not part of the public API'],
    ['src/cli/a.ts', '../index.ts', 'the public API is for users of the package'],
    ['src/cli/a.ts', '../web/b.ts', 'the viewer uses HTTP only'],
    ['src/web/a.ts', '../core/b.ts', 'the viewer uses HTTP only'],
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
  it.each(refused)('refuse the import by %s of %s', (from, to, reason) => {
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

  it('refuse an import with a computed path, and an import of the package itself', () => {
    expect(faults(arrows, 'src/cli/a.ts', 'await import(name)')).toEqual(['an import has to name its file'])
    expect(faults(arrows, 'src/cli/a.ts', `import { x } from 'skein/sqlite'`)).toHaveLength(1)
  })

  const allowed: [from: string, to: string][] = [
    ['src/stores/sqlite/a.ts', '../engine/rows.ts'],
    ['src/stores/sqlite/recover/a.ts', '../../store/read-records.ts'],
    ['src/stores/store/store-with-hub.ts', '../check/input.ts'],
    ['src/stores/open.ts', './sqlite/index.ts'],
    ['src/testing/contract/a.ts', '../../core/ports.ts'],
    ['src/testing/index.ts', './contract/b.ts'],
    ['src/agent/a.ts', '../context/fit.ts'],
    ['src/server/a.ts', '../recorder/b.ts'],
    ['src/cli/a.ts', '../stores/sqlite/index.ts'],
    ['src/cli/a.ts', '../stores/open.ts'],
    ['src/recorder/a.ts', '../system/source.ts'],
    ['src/stores/sqlite/a.ts', '../../system/source.ts'],
    ['src/acp/host/a.ts', '../../agent/b.ts'],
    ['src/index.ts', './stores/open.ts'],
    ['src/core/a.ts', 'node:crypto'],
  ]
  it.each(allowed)('allow the import by %s of %s', (from, to) => {
    expect(faults(arrows, from, `import { x } from '${to}'`)).toEqual([])
  })
})

describe('cycles between folders', () => {
  const file = (path: string, ...imports: string[]) => ({
    path,
    text: imports.map(from => `import '${from}'`).join('\n'),
  })

  it('are found between two folders, with type imports and dynamic imports', () => {
    const type = { path: 'src/a/x.ts', text: `import type { Y } from '../b/y.ts'` }
    const dynamic = { path: 'src/b/y.ts', text: `const x = await import('../a/x.ts')` }
    expect(folderCycles([type, dynamic])).toEqual(['src/a ⇄ src/b'])
  })
  it('are found between a folder and its subfolder', () => {
    const files = [file('src/a/x.ts', './b/y.ts'), file('src/a/z.ts'), file('src/a/b/y.ts', '../z.ts')]
    expect(folderCycles(files)).toEqual(['src/a ⇄ src/a/b'])
  })
  it('are found across three folders', () => {
    const files = [
      file('src/a/x.ts', '../b/x.ts'),
      file('src/b/x.ts', '../c/x.ts'),
      file('src/c/x.ts', '../a/x.ts'),
      file('src/d/x.ts', '../a/x.ts'),
    ]
    expect(folderCycles(files)).toEqual(['src/a → src/b → src/c'])
  })
  it('are not reported for imports in one direction', () => {
    expect(folderCycles([file('src/a/x.ts', './b/y.ts', './z.ts'), file('src/a/b/y.ts')])).toEqual([])
  })
})

describe('files with a single importer', () => {
  it('are counted without the imports of an index.ts', () => {
    const files = [
      { path: 'src/a/index.ts', text: `export { x } from './x.ts'` },
      { path: 'src/a/x.ts', text: `import './y.ts'\nimport './z.ts'\n` },
      { path: 'src/a/y.ts', text: `import './z.ts'\n` },
      { path: 'src/a/z.ts', text: '' },
    ]
    expect(oneImporterShare(files)).toEqual({ share: 1 / 4, list: ['src/a/y.ts (1) ← src/a/x.ts (2)'] })
  })
})

describe('quick tests', () => {
  it('are refused if a file that they import uses PostgreSQL', () => {
    const files = [
      { path: 'test/core/a.test.ts', text: `import '../stores/b.ts'` },
      { path: 'test/stores/b.ts', text: `import '../support/postgres-url.ts'` },
      { path: 'test/support/postgres-url.ts', text: '' },
    ]
    expect(quickTests(files)).toEqual(['test/core/a.test.ts: uses PostgreSQL'])
  })
})

describe('exported names with several meanings', () => {
  it('are types if two of the declarations are', () => {
    const one = { path: 'src/a/x.ts', text: 'export interface X {}\nexport function f() {}' }
    const two = { path: 'src/b/x.ts', text: 'export type X = 1\nexport const f = 1, g = 2' }
    const three = { path: 'src/c/x.ts', text: `export { X } from '../a/x.ts'\nexport class g {}` }
    expect(sharedNames([one, two, three])).toEqual([
      { name: 'X', isType: true, files: ['src/a/x.ts', 'src/b/x.ts'] },
      { name: 'f', isType: false, files: ['src/a/x.ts', 'src/b/x.ts'] },
      { name: 'g', isType: false, files: ['src/b/x.ts', 'src/c/x.ts'] },
    ])
  })
  it('are allowed in files of the drivers that are counterparts', () => {
    const text = 'export const queries = {}'
    const files = ['sqlite', 'postgres'].map(driver => ({ path: `src/stores/${driver}/queries.ts`, text }))
    expect(sharedNames(files)).toEqual([])
    expect(sharedNames([...files, { path: 'src/stores/queries.ts', text }])).toHaveLength(1)
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

  it('also holds for context and formats, which may import packages', () => {
    expect(faults(purity, 'src/context/a.ts', 'console.log(1)')).toEqual(['uses console'])
    expect(faults(purity, 'src/formats/a.ts', `import 'node:fs'`)).toEqual(['imports node:fs'])
    expect(faults(purity, 'src/context/a.ts', `import { encode } from 'gpt-tokenizer'`)).toEqual([])
    expect(faults(purity, 'src/api/a.ts', `import { z } from 'zod'`)).toEqual(['imports the package zod'])
    expect(faults(purity, 'src/api/schema/a.ts', `import { z } from 'zod'`)).toEqual([])
  })
  it('does not hold for the other folders', () => {
    expect(faults(purity, 'src/cli/a.ts', `import 'node:fs'\nconsole.log(Date.now())`)).toEqual([])
  })
})

describe('the word "session"', () => {
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
  it('has no consumer of the whole Store', () => {
    const text = `import type { MessageReader, Store } from '../../core/ports.ts'`
    expect(faults(narrowPorts, 'src/cli/read/show.ts', text)).toHaveLength(1)
    expect(faults(narrowPorts, 'src/cli/read/show.ts', text.replace(', Store', ''))).toEqual([])
    expect(faults(narrowPorts, 'src/stores/open.ts', text)).toEqual([])
  })
  it('refuses to read a whole list, but not page by page', () => {
    const [whole, pages] = ['collectPages', 'itemsOf'].map(
      name => `await ${name}(p => store.listTurns(id, p))`,
    )
    expect(faults(noWholeLists, 'src/cli/a.ts', whole!)).toEqual(['reads a whole list with collectPages'])
    expect(faults(noWholeLists, 'src/cli/a.ts', 'pathOf(store, head)')).toHaveLength(1)
    expect(faults(noWholeLists, 'src/cli/a.ts', pages!)).toEqual([])
    expect(faults(noWholeLists, 'src/testing/a.ts', whole!)).toEqual([])
  })
  it('refuses a loop over the items of a list that fills a collection from before the loop', () => {
    const items = 'itemsOf(p => store.listTurns(id, p))'
    const read = (text: string) => faults(noWholeLists, 'src/cli/a.ts', `async function read() { ${text} }`)
    for (const text of [
      `const all = []; for await (const one of ${items}) all.push(one)`,
      `const all = new Set(); for await (const one of ${items}) if (one.last) all.add(one)`,
      `const list = ${items}; const all = new Map<number, Turn>(); for await (const one of list) all.set(1, one)`,
    ])
      expect(read(text), text).toEqual(['reads a whole list into all'])
    for (const text of [
      `for await (const one of ${items}) { const some = []; some.push(one) }`,
      `const all = []; for await (const one of ${items}) count++; all.push(count)`,
      `const all = []; for await (const one of page) all.push(one)`,
      `const replay = begin(); for await (const one of ${items}) replay.add(one)`,
    ])
      expect(read(text), text).toEqual([])
  })
  it('limits files to 400 lines', () => {
    expect(faults(shortFiles, 'src/a.ts', 'x\n'.repeat(400))).toEqual([])
    expect(faults(shortFiles, 'src/a.ts', 'x\n'.repeat(401))).toEqual(['has 401 lines, 400 are allowed'])
  })
  it('refuses default exports and "export *"', () => {
    expect(faults(namedExports, 'src/a.ts', 'export default 1')).toEqual(['has a default export'])
    expect(faults(namedExports, 'src/a.ts', `export * from './b.ts'`)).toEqual(['has an "export *"'])
    expect(faults(namedExports, 'src/a.ts', `export type * from './b.ts'`)).toEqual(['has an "export *"'])
    expect(faults(namedExports, 'src/a.ts', `export { x } from './b.ts'`)).toEqual([])
  })
  it.each(['src/core/utils.ts', 'src/cli/helpers/a.ts', 'src/a/retry-manager.ts', 'src/common.test.ts'])(
    'refuses a collective name such as %s',
    path => expect(faults(tellingNames, path, '')).toHaveLength(1),
  )
  it.each(['src/core/community.ts', 'src/context/fit.ts'])('accepts a name such as %s', path => {
    expect(faults(tellingNames, path, '')).toEqual([])
  })
  it('refuses a folder or file that the layout does not have', () => {
    expect(faults(layout, 'src/services/a.ts', '')).toEqual(['is not in the layout of src/'])
    expect(faults(layout, 'src/main.ts', '')).toEqual(['is not in the layout of src/'])
    expect(faults(layout, 'src/stores/sqlite/a.ts', '')).toEqual([])
    expect(faults(layout, 'src/index.ts', '')).toEqual([])
  })
})
