import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readDocComment } from '../scripts/api/doc-comment.ts'
import { readEntryPoints, undocumented, unexported } from '../scripts/api/entry-points.ts'
import { isAsPromised, promisedOutput } from '../scripts/api/examples.ts'
import { apiReader } from '../scripts/api/module.ts'

const entries = readEntryPoints('src')

describe('the public API', () => {
  it('has a doc comment for every export and every member', () => {
    expect(entries.flatMap(entry => undocumented(entry).map(name => `${entry.name}: ${name}`))).toEqual([])
  })

  it('exports every type that a signature names', () => {
    expect(
      entries.flatMap(entry => unexported(entry, entries).map(name => `${entry.name}: ${name}`)),
    ).toEqual([])
  })

  it('has at most 95 names in the root entry point: others belong into subpaths (docs/versions.md)', () => {
    const root = entries.find(({ name }) => name === 'skein')
    expect(root?.declarations.length).toBeLessThanOrEqual(95)
  })

  it('has booleans, and not "true or absent"', () => {
    const declarations = entries.flatMap(entry => entry.declarations)
    expect(
      declarations.filter(one => /\?: true\b/.test(one.signatures.join('\n'))).map(one => one.name),
    ).toEqual([])
  })

  it('exports every name from one entry point only', () => {
    const names = entries.flatMap(({ declarations }) => declarations.map(({ name }) => name))
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('has an example in every entry point, and none without code', () => {
    const examples = entries.map(({ declarations }) =>
      declarations
        .flatMap(({ comment, members }) => [comment, ...members.map(member => member.comment)])
        .flatMap(comment => comment?.examples ?? []),
    )
    expect(entries.filter((_, index) => examples[index]!.length === 0).map(({ name }) => name)).toEqual([])
    expect(examples.flat().filter(code => code === '')).toEqual([])
  })

  it('has an example for each of the functions that applications use most', () => {
    const most = [
      ...['openStore', 'textOf', 'pathOf', 'collectPages', 'findOrCreate', 'append', 'createBranch', 'tail'],
      ...['listConversations', 'search', 'createAgent', 'send', 'ask', 'tool', 'subagent', 'recallTools'],
      ...['openModel', 'scripted', 'readContext', 'fit', 'beginTurn', 'recordTo', 'createHost'],
    ]
    const shown = entries
      .flatMap(({ declarations }) => declarations.flatMap(one => [one, ...one.members]))
      .filter(({ comment }) => comment?.examples.length)
      .map(({ name }) => name)
    expect(most.filter(name => !shown.includes(name))).toEqual([])
  })
})

describe('reading a doc comment', () => {
  it('parts the text from its examples', () => {
    const comment = [
      '* Opens it.',
      ' *  Throws.',
      ' *',
      ' * @example',
      ' * ```ts',
      ' * open()',
      ' * ```',
      ' ',
    ]
    expect(readDocComment(comment.join('\n'))).toEqual({ text: 'Opens it.\nThrows.', examples: ['open()'] })
  })

  it('keeps the indentation of an example', () => {
    const { examples } = readDocComment('*\n * @example\n * ```ts\n * if (a) {\n *   b()\n * }\n * ```\n ')
    expect(examples).toEqual(['if (a) {\n  b()\n}'])
  })
})

describe('the output that an example promises', () => {
  it('is in the comments behind and below what it prints', () => {
    const code = [
      '// Greets.',
      'console.log(1) // one',
      'a()',
      '// not printed',
      'console.log(2)',
      '// two',
      '// …',
    ]
    expect(promisedOutput(code.join('\n'))).toEqual(['one', 'two', '…'])
  })

  it('is compared line by line, and … matches anything', () => {
    expect(isAsPromised(['a', 'run …'], 'a\n\nrun 17\n')).toBe(true)
    expect(isAsPromised(['a'], 'b\n')).toBe(false)
    expect(isAsPromised(['a'], 'a\nb\n')).toBe(false)
    expect(isAsPromised(['(a.c)'], '(abc)')).toBe(false)
  })
})

describe('reading a module', () => {
  /** Writes modules into a folder and reads the exports of `index.ts`. */
  function exportsOf(modules: Readonly<Record<string, string>>) {
    const folder = mkdtempSync(join(tmpdir(), 'api-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text)
    return apiReader().exportsOf(join(folder, 'index.ts'))
  }

  it('follows names through re-exports and imports, under their public names', () => {
    const found = exportsOf({
      'index.ts': `import { b as c } from './b.ts'\nexport { a as first } from './a.ts'\nexport { c as second }`,
      'a.ts': '/** The first. */\nexport const a = 1',
      'b.ts': '/** The second. */\nexport function b(): void {}',
    })
    expect(found.map(({ name, kind, comment }) => [name, kind, comment?.text])).toEqual([
      ['first', 'const', 'The first.'],
      ['second', 'function', 'The second.'],
    ])
  })

  it('lists the members of interfaces, classes and unions, without discriminants and private ones', () => {
    const found = exportsOf({
      'index.ts': [
        'export interface A { /** Has one. */ one: string; two(): void }',
        'export class B { constructor(a: A) {} #hidden = 1; private own = 2; three = 3 }',
        `export type C = { type: 'x'; four: number } | { type: 'y'; /** Has one. */ five: number }`,
      ].join('\n'),
    })
    expect(undocumented({ name: 'skein', header: '', declarations: found })).toEqual([
      ...['A', 'A.two', 'B', 'B.three', 'C', 'C.four'],
    ])
  })

  it('finds types of ours that are not exported, and leaves those of libraries and parameters', () => {
    const declarations = exportsOf({
      'index.ts': [
        `import type { Far } from './far.ts'`,
        `import type { Database } from 'better-sqlite3'`,
        'interface Near {}',
        'export interface Shown extends Near {}',
        'export function use<T>(far: Far, db: Database, shown: Shown, given: Promise<T>): void {}',
      ].join('\n'),
      'far.ts': 'export interface Far {}',
    })
    const entry = { name: 'skein', header: '', declarations }
    expect(unexported(entry, [entry])).toEqual(['Shown: Near', 'use: Far'])
  })
})
