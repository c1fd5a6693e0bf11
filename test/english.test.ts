import { describe, expect, it } from 'vitest'
import {
  type Counts,
  countByArea,
  type EnglishFinding,
  findLongLines,
  findPhrases,
  lowerBudget,
  overBudget,
  readBudgets,
  readProse,
  underBudget,
} from './support/rules/english.ts'

/** How many avoided phrases and long lines each area has left. A budget may only fall. */
const budgets = readBudgets()

const prose = readProse()
const found = { phrases: findPhrases(prose), longLines: findLongLines(prose) }

function keepsWithin(findings: readonly EnglishFinding[], budget: Counts): void {
  const counts = countByArea(findings)
  const over = overBudget(counts, budget)
  expect(findings.filter(({ area }) => over.includes(area)).map(({ place }) => place)).toEqual([])
  expect(underBudget(counts, budget), 'lower the budgets: npm run english -- --lower').toEqual({})
}

describe('the English of the repository', () => {
  it('has no more avoided phrases than its budget', () => keepsWithin(found.phrases, budgets.phrases))
  it('has no more lines beyond 110 columns than its budget', () =>
    keepsWithin(found.longLines, budgets.longLines))
  it('has no budget for the README and the hand-written docs', () => {
    const pages = /^(docs|[A-Z]+\.md|bench\/README\.md)$/
    expect(
      Object.keys({ ...budgets.phrases, ...budgets.longLines }).filter(area => pages.test(area)),
    ).toEqual([])
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
    expect(findPhrases([{ path: 'src/core/a.ts', text }])).toEqual([
      { area: 'src/core', place: 'src/core/a.ts:3: goes\n *  on' },
    ])
  })

  it('counts the texts of the command apart from its comments', () => {
    const hole = ['$', '{1 /* nobody */}'].join('')
    const text = `// nobody\nsay('nobody') // nobody\nsay(\`// nobody ${hole}\`)\n`
    expect(countByArea(findPhrases([{ path: 'src/cli/a.ts', text }]))).toEqual({
      'src/cli': 3,
      'src/cli, texts': 2,
    })
  })

  it('counts by folder in src and test, and by page or top folder elsewhere', () => {
    const paths = ['src/index.ts', 'src/acp/host/a.ts', 'test/api.test.ts', 'test/acp/a.test.ts']
    const others = ['README.md', 'bench/README.md', 'bench/a.ts', 'docs/decisions/1.md', 'scripts/docs/a.ts']
    const files = [...paths, ...others].map(path => ({ path, text: '// nobody' }))
    expect(findPhrases(files).map(({ area }) => area)).toEqual([
      ...['src', 'src/acp', 'test', 'test/acp'],
      ...['README.md', 'bench/README.md', 'bench', 'docs', 'scripts'],
    ])
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

describe('the budget', () => {
  it('refuses a higher count', () => {
    expect(overBudget({ docs: 1, 'src/acp': 2 }, { 'src/acp': 2, 'src/core': 3 })).toEqual(['docs'])
    expect(overBudget({ 'src/acp': 3 }, { 'src/acp': 2, 'src/core': 5 })).toEqual(['src/acp'])
    expect(overBudget({ 'src/acp': 2 }, { 'src/acp': 2 })).toEqual([])
  })

  it('lets a new folder take over the budget of another, but never more than all had', () => {
    expect(overBudget({ 'src/testing': 3, 'src/stores': 1 }, { 'src/stores': 4 })).toEqual([])
    expect(overBudget({ 'src/testing': 4, 'src/stores': 1 }, { 'src/stores': 4 })).toEqual(['src/testing'])
  })

  it('shows what can be lowered', () => {
    expect(underBudget({ 'src/acp': 1 }, { 'src/acp': 2, 'src/core': 1 })).toEqual({
      'src/acp': 1,
      'src/core': 0,
    })
    expect(underBudget({ 'src/acp': 2 }, { 'src/acp': 2 })).toEqual({})
  })

  it('is lowered on request, and never raised', () => {
    expect(lowerBudget({ 'src/acp': 1, 'src/system': 1 }, { 'src/acp': 2, 'src/core': 1 })).toEqual({
      'src/acp': 1,
      'src/system': 1,
    })
    expect(() => lowerBudget({ 'src/acp': 3 }, { 'src/acp': 2, 'src/core': 9 })).toThrow('src/acp')
    expect(() => lowerBudget({ 'src/new': 3 }, { 'src/acp': 2 })).toThrow('src/new')
  })
})
