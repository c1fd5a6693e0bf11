import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  decisionsByLine,
  isTagList,
  numbersIn,
  numbersOf,
  readRequirements,
} from '../scripts/requirements/requirements.ts'
import { filesByTag, misplacedTags, readTests, readTexts, tagsIn } from '../scripts/requirements/tags.ts'

const requirements = readRequirements()
const numbers = numbersOf(requirements)
const tests = readTests()
const tested = filesByTag(tests)

/** The pages that people write, and the sources: what they say of a requirement is a claim. */
const claims = [
  ...readTexts(['src', 'scripts', 'examples', 'bench'], '.ts'),
  ...readTexts(['docs'], '.md').filter(({ path }) => path !== 'docs/requirements.md'),
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'].map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  })),
]

describe('the tags of the tests', () => {
  it('name requirements that exist', () => {
    expect(tested.size).toBeGreaterThan(250)
    expect([...tested.keys()].filter(tag => !numbers.has(tag))).toEqual([])
  })

  it('end the names of their tests', () => {
    expect(tests.flatMap(misplacedTags)).toEqual([])
  })
})

describe('a requirement that the sources or the pages claim', () => {
  const claimed = [...filesByTag(claims)]

  it('exists', () => {
    expect(claimed.length).toBeGreaterThan(3)
    expect(claimed.filter(([number]) => !numbers.has(number))).toEqual([])
  })

  it('is asserted by a test', () => {
    expect(claimed.filter(([number]) => !tested.has(number))).toEqual([])
  })
})

describe('requirements.json', () => {
  it('numbers the lines of each document without a gap', () => {
    for (const { id, sections } of requirements.documents) {
      const found = sections.flatMap(section => Object.keys(section.lines))
      expect(new Set(found)).toEqual(new Set(found.map((_, index) => `${id}-${index + 1}`)))
    }
  })

  it('gives each line a kind', () => {
    const lines = requirements.documents.flatMap(({ sections }) =>
      sections.flatMap(({ lines }) => Object.values(lines)),
    )
    expect(lines.filter(line => !/^\[(REQ|OPT|Q|TEST|NFR|CTX|TRAP)\] \S/.test(line))).toEqual([])
  })

  it('decides about lines that exist, by contradictions and decisions that exist', () => {
    const named = [...decisionsByLine(requirements)].flatMap(([line, decisions]) => [line, ...decisions])
    expect(named.filter(number => !numbers.has(number))).toEqual([])
  })

  it('has a line for each reliability test on the page that reports them', () => {
    const page = readFileSync('docs/reliability.md', 'utf8')
    const rows = [...page.matchAll(/^(?:\| (R\d+) \||- \*\*(P\d)\*\*)/gm)].map(
      ([, test, promise]) => test ?? promise!,
    )
    expect(rows.length).toBeGreaterThan(15)
    expect(rows.filter(number => !numbers.has(number))).toEqual([])
  })
})

describe('reading a tag', () => {
  const tag = (list: string) => `it('keeps it (${list})', () => {})`
  const inTest = (text: string) => tagsIn({ path: 'test/a.test.ts', text })

  it('finds all numbers of a list, and those between two', () => {
    expect(inTest(tag('S3-76, R27'))).toEqual(['S3-76', 'R27'])
    expect(inTest(tag('S3-60 … S3-62, rule 3'))).toEqual(['S3-60', 'S3-61', 'S3-62', 'rule 3'])
    expect(numbersIn('see settled 14')).toEqual(['settled 14'])
  })

  it('ignores other parentheses', () => {
    expect(isTagList('S3-76')).toBe(true)
    expect(isTagList('the C1 range')).toBe(false)
    expect(inTest(tag('of S3-76'))).toEqual([])
  })

  it('reports a tag in the middle of a name', () => {
    const text = tag('S3-76').replace(")'", ") at once'")
    expect(misplacedTags({ path: 'test/a.test.ts', text })).toHaveLength(1)
    expect(inTest(text)).toEqual([])
  })
})
