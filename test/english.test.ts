import { describe, expect, it } from 'vitest'
import {
  exceptions,
  findLongLines,
  findPhrases,
  readProse,
  withoutExceptions,
} from './support/rules/english.ts'

const prose = readProse()

describe('the English of the repository', () => {
  it('has no avoided phrases except the named ones', () => {
    expect(withoutExceptions(findPhrases(prose), exceptions)).toEqual({ faults: [], stale: [] })
  })
  it('has no comment and no Markdown beyond 110 columns', () => {
    expect(findLongLines(prose).map(({ place }) => place)).toEqual([])
  })
  it('has no exception for the README and the docs', () => {
    expect(exceptions.filter(({ path }) => path.endsWith('.md'))).toEqual([])
  })
})

describe('the rule on phrases', () => {
  const caught = [
    ...['Whoever asks', 'nobody knows', 'for somebody', 'if anybody does'],
    ...['they go on', 'it goes on', 'Went on', 'going on'],
    ...['it stands in a file', 'they stand for it', 'lies beside', 'hangs on', 'stands there'],
    ...['is no JSON', 'are no messages'],
    ...['// it goes\n  // on', '/** is\n *  no text */', 'it stands\nbehind'],
  ]
  it.each(caught)('catches: %j', text => {
    expect(findPhrases([{ path: 'docs/a.md', text }])).toHaveLength(1)
  })

  const left = [
    ...['there is no file', 'There are no files', 'there\nis no file', 'is no longer', 'are no more'],
    ...['is not', 'goes once', 'understands inputs', 'a stand-in', 'sometimes'],
  ]
  it.each(left)('leaves: %j', text => {
    expect(findPhrases([{ path: 'docs/a.md', text }])).toEqual([])
  })

  it('says where a phrase is, also one that wraps', () => {
    const text = '// one\n/** This\n *  goes\n *  on. */\nconst a = 1\n'
    expect(findPhrases([{ path: 'src/core/a.ts', text }]).map(({ place }) => place)).toEqual([
      'src/core/a.ts:3: goes\n *  on',
    ])
  })

  it('allows exactly the named exceptions, and reports those that no longer apply', () => {
    const found = findPhrases([{ path: 'src/core/a.ts', text: '// nobody\n// nobody\n// somebody\n' }])
    const nobody = { path: 'src/core/a.ts', phrase: 'nobody', times: 2 }
    expect(withoutExceptions(found, [nobody])).toEqual({ faults: ['src/core/a.ts:3: somebody'], stale: [] })
    const once = { ...nobody, times: 1 }
    expect(withoutExceptions(found, [once])).toMatchObject({ faults: { length: 3 }, stale: [once] })
    const elsewhere = { ...nobody, path: 'src/core/b.ts' }
    expect(withoutExceptions(found, [elsewhere])).toMatchObject({ faults: { length: 3 } })
  })
})

describe('the rule on width', () => {
  const long = 'x '.repeat(56)
  it('counts lines of comments', () => {
    const text = `// ${long}\n/** short\n *  ${long}\n */\nconst a = '// ${long}'\nconst b = 1 // ${long}\n`
    expect(findLongLines([{ path: 'src/core/a.ts', text }]).map(({ place }) => place)).toEqual([
      'src/core/a.ts:1: 115 columns',
      'src/core/a.ts:3: 116 columns',
      'src/core/a.ts:6: 127 columns',
    ])
  })

  it('counts lines of Markdown, but for tables and code', () => {
    const text = `${long}\n| ${long} |\n\`\`\`sh\n${long}\n\`\`\`\n- ${long}\n`
    expect(findLongLines([{ path: 'docs/a.md', text }]).map(({ place }) => place)).toEqual([
      'docs/a.md:1: 112 columns',
      'docs/a.md:6: 114 columns',
    ])
  })

  it('lets a line have 110 columns, and a directive more', () => {
    const text = `// ${'x'.repeat(107)}\n// biome-ignore lint/a: ${long}\n`
    expect(findLongLines([{ path: 'src/core/a.ts', text }])).toEqual([])
  })
})
