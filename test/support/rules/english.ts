import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { readSources, type SourceFile, visit } from './source.ts'

/** A space, or a line break with what begins the next line of a comment: a phrase may wrap. */
const gap = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:(?:\*|//)[ \t]*)?)`

/** The phrases that our English avoids: indefinite persons, "go on" for "continue", "stands in" for "is in",
 *  and "is no X" for "is not an X". CONTRIBUTING.md says what to write instead. */
const phrases = [
  String.raw`\b(whoever|nobody|somebody|anybody)\b`,
  String.raw`\b(go|goes|went|going) on\b`,
  String.raw`\b(stands?|lies|hangs) (in|for|on|behind|beside|there)\b`,
  String.raw`(?<!\bthere )\b(is|are) no\b(?! (longer|more)\b)`,
].map(words => new RegExp(words.replaceAll(' ', gap), 'gi'))

/** The width at which comments and Markdown wrap. Biome wraps the code at the same width. */
export const width = 110

/** Counts by area: `src/acp`, `docs`, `README.md`. */
export type Counts = Readonly<Record<string, number>>

export interface EnglishBudgets {
  /** Avoided phrases. */
  readonly phrases: Counts
  /** Lines of comments and Markdown that are longer than `width`. */
  readonly longLines: Counts
}

export const budgetFile = join(import.meta.dirname, 'english-budget.json')

export function readBudgets(): EnglishBudgets {
  return JSON.parse(readFileSync(budgetFile, 'utf8')) as EnglishBudgets
}

/** One place to reword or to wrap: `src/core/a.ts:3: nobody`. */
export interface EnglishFinding {
  readonly area: string
  readonly place: string
}

/** Pages that a script writes; the text of these pages is counted in the sources that they quote. */
const generated = /^docs\/((cli|config|json|schema|recording|requirements)\.md$|api\/)/

/** The files that list the phrases themselves. */
const listing = ['test/english.test.ts', 'test/support/rules/english.ts']

/** Every source file and every hand-written Markdown file of the repository. */
export function readProse(): readonly SourceFile[] {
  const sources = readSources('src', 'test', 'scripts', 'examples', 'bench')
  return [...sources, ...readPages()].filter(({ path }) => !listing.includes(path) && !generated.test(path))
}

function readPages(): readonly SourceFile[] {
  const root = join(import.meta.dirname, '../../..')
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => posix.join('docs', path.replaceAll('\\', '/')))
  const top = readdirSync(root).filter(path => path.endsWith('.md'))
  return [...top, 'bench/README.md', ...pages]
    .sort()
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The avoided phrases, in comments, strings and names as well as in Markdown. */
export function findPhrases(files: readonly SourceFile[]): readonly EnglishFinding[] {
  return files.flatMap(file => {
    const comments = hasTexts(file) ? commentsOf(file) : []
    return phrases.flatMap(phrase =>
      [...file.text.matchAll(phrase)].map(({ index, 0: found }) => {
        const isComment = comments.some(({ start, end }) => start <= index && index < end)
        return {
          area: areaOf(file.path, isComment),
          place: `${file.path}:${lineOf(file.text, index)}: ${found}`,
        }
      }),
    )
  })
}

/** The lines of comments and Markdown beyond the limit. Tables, code blocks and directives cannot wrap. */
export function findLongLines(files: readonly SourceFile[]): readonly EnglishFinding[] {
  return files.filter(hasLongLine).flatMap(file => {
    const lines = isPage(file) ? pageLines(file.text) : commentLines(file)
    return lines
      .filter(({ text }) => text.length > width)
      .map(({ number, text }) => ({
        area: areaOf(file.path, true),
        place: `${file.path}:${number}: ${text.length} columns`,
      }))
  })
}

export function countByArea(findings: readonly EnglishFinding[]): Counts {
  const counts = new Map<string, number>()
  for (const { area } of findings) counts.set(area, (counts.get(area) ?? 0) + 1)
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** `src` and `test` are counted by folder, everything else by its first name. The texts of the command have an
 *  area of their own. */
function areaOf(path: string, isComment: boolean): string {
  const [top, folder, ...rest] = path.split('/')
  if (top === 'bench' && folder === 'README.md') return path
  if ((top !== 'src' && top !== 'test') || rest.length === 0) return top!
  return folder === 'cli' && top === 'src' && !isComment ? 'src/cli, texts' : `${top}/${folder}`
}

/** The areas whose count is above the budget. A new folder of `src` or `test` takes its budget from the folders
 *  that have fallen, so that files can move. */
export function overBudget(counts: Counts, budget: Counts): readonly string[] {
  const sum = (numbers: Counts) => Object.values(numbers).reduce((total, count) => total + count, 0)
  const hasRoom = sum(counts) <= sum(budget)
  return Object.entries(counts)
    .filter(([area, count]) => count > (budget[area] ?? 0))
    .filter(([area]) => area in budget || !/^(src|test)\//.test(area) || !hasRoom)
    .map(([area]) => area)
}

/** The areas whose count is below the budget, with their counts. */
export function underBudget(counts: Counts, budget: Counts): Counts {
  return Object.fromEntries(
    Object.entries(budget)
      .filter(([area, allowed]) => (counts[area] ?? 0) < allowed)
      .map(([area]) => [area, counts[area] ?? 0]),
  )
}

/** The budget that fits the counts. Throws if it would be higher in an area. */
export function lowerBudget(counts: Counts, budget: Counts): Counts {
  const over = overBudget(counts, budget)
  if (over.length > 0) throw new Error(`a budget may only fall: ${over.join(', ')}`)
  return counts
}

interface Comment {
  readonly start: number
  readonly end: number
}

/** The comments of a source file: whatever begins with two slashes or a slash and a star outside a literal. */
function commentsOf(file: SourceFile): readonly Comment[] {
  const literals: Comment[] = []
  visit(file, node => {
    if (node.type !== 'Literal' && node.type !== 'TemplateElement') return
    literals.push({ start: Number(node.start), end: Number(node.end) })
  })
  literals.sort((a, b) => a.start - b.start)
  const comments: Comment[] = []
  const { text } = file
  let next = 0
  for (let at = 0; at < text.length; ) {
    while (next < literals.length && literals[next]!.end <= at) next++
    const literal = literals[next]
    if (literal !== undefined && literal.start <= at) at = literal.end
    else {
      const end = commentEnd(text, at)
      if (end > at) comments.push({ start: at, end })
      at = Math.max(end, at + 1)
    }
  }
  return comments
}

/** Where the comment that begins at `start` ends, or `start` if none begins there. */
function commentEnd(text: string, start: number): number {
  if (!/^\/[/*]/.test(text.slice(start, start + 2))) return start
  const mark = text[start + 1] === '/' ? '\n' : '*/'
  const end = text.indexOf(mark, start + 2)
  if (end < 0) return text.length
  return mark === '\n' ? end : end + mark.length
}

interface Line {
  readonly number: number
  readonly text: string
}

/** The lines that hold a comment, or a part of one. */
function commentLines(file: SourceFile): readonly Line[] {
  const numbers = new Set(
    commentsOf(file).flatMap(({ start, end }) => {
      const [first, last] = [lineOf(file.text, start), lineOf(file.text, end)]
      return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    }),
  )
  return linesOf(file.text).filter(
    ({ number, text }) => numbers.has(number) && !text.includes('biome-ignore'),
  )
}

/** The lines of a page that can wrap. */
function pageLines(page: string): readonly Line[] {
  let isCode = false
  return linesOf(page).filter(({ text }) => {
    const isFence = text.trimStart().startsWith('```')
    if (isFence) isCode = !isCode
    return !isFence && !isCode && !text.trimStart().startsWith('|')
  })
}

function linesOf(text: string): readonly Line[] {
  return text.split('\n').map((line, index) => ({ number: index + 1, text: line }))
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

function isPage(file: SourceFile): boolean {
  return file.path.endsWith('.md')
}

/** Whether the file has lines to look at: most files have none, and need not be parsed. */
function hasLongLine({ text }: SourceFile): boolean {
  return linesOf(text).some(line => line.text.length > width)
}

/** Whether texts and comments of the file are counted apart. */
function hasTexts(file: SourceFile): boolean {
  return file.path.startsWith('src/cli/')
}
