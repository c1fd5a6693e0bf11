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

/** A phrase that stays in its file, because it is not prose or cannot be changed. */
export interface EnglishException {
  readonly path: string
  readonly phrase: string
  /** How often the file has it. */
  readonly times: number
}

const stopWords = { path: 'src/agent/recall/salient-terms.ts', times: 1 }
// The text of a released migration never changes, with its comments.
const postgresTables = 'src/stores/postgres/migrations.ts'
const sqliteTables = 'src/stores/sqlite/migrations.ts'

/** All exceptions: words of a list, released SQL, and the system user `nobody`. */
export const exceptions: readonly EnglishException[] = [
  { ...stopWords, phrase: 'anybody' },
  { ...stopWords, phrase: 'nobody' },
  { ...stopWords, phrase: 'somebody' },
  { path: postgresTables, phrase: 'somebody', times: 2 },
  { path: postgresTables, phrase: 'lies in', times: 1 },
  { path: sqliteTables, phrase: 'somebody', times: 1 },
  { path: 'test/battery/read-only.test.ts', phrase: 'nobody', times: 1 },
  { path: 'test/support/pgbouncer.ts', phrase: 'nobody', times: 1 },
  { path: 'test/support/postgres-guard.ts', phrase: 'nobody', times: 2 },
]

/** One place to reword or to wrap: `src/core/a.ts:3: nobody`. */
export interface EnglishFinding {
  readonly path: string
  readonly place: string
  /** The phrase as it is written; empty for a long line. */
  readonly phrase: string
}

/** Pages that a script writes; the text of these pages is counted in the sources that they quote. */
const generated = /^docs\/((cli|config|http|json|schema|recording|requirements)\.md$|api\/)/

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
  return files.flatMap(({ path, text }) =>
    phrases.flatMap(phrase =>
      [...text.matchAll(phrase)].map(({ index, 0: found }) => ({
        path,
        place: `${path}:${lineOf(text, index)}: ${found}`,
        phrase: found,
      })),
    ),
  )
}

/** The findings without the exceptions, and the exceptions that no longer apply. */
export function withoutExceptions(
  found: readonly EnglishFinding[],
  allowed: readonly EnglishException[],
): { readonly faults: readonly string[]; readonly stale: readonly EnglishException[] } {
  const of = ({ path, phrase }: EnglishException) =>
    found.filter(one => one.path === path && one.phrase === phrase)
  const excepted = allowed.filter(one => of(one).length === one.times)
  const left = found.filter(one => !excepted.some(exception => of(exception).includes(one)))
  return {
    faults: left.map(({ place }) => place),
    stale: allowed.filter(one => !excepted.includes(one)),
  }
}

/** The lines of comments and Markdown beyond the limit. Tables, code blocks and directives cannot wrap. */
export function findLongLines(files: readonly SourceFile[]): readonly EnglishFinding[] {
  return files.filter(hasLongLine).flatMap(file => {
    const lines = isPage(file) ? pageLines(file.text) : commentLines(file)
    return lines
      .filter(({ text }) => text.length > width)
      .map(({ number, text }) => ({
        path: file.path,
        place: `${file.path}:${number}: ${text.length} columns`,
        phrase: '',
      }))
  })
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
