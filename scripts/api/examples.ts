import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { root } from '../check/command.ts'
import { readDocComment } from './doc-comment.ts'

/** An `@example` of a doc comment, and where it is: `src/agent/tool.ts:12`. */
export interface DocExample {
  readonly place: string
  readonly code: string
  /** The file to write it to, if other programs import it. */
  readonly file?: string
}

/** The examples in the doc comments of all sources. */
export function readDocExamples(): readonly DocExample[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .sort()
    .flatMap(path => {
      const text = readFileSync(join(root, 'src', path), 'utf8')
      return text.includes('@example') ? examplesIn(`src/${path}`, text) : []
    })
}

/** Pages whose code is programs. A block that begins with `// name.ts` is a file with that name, next to the
 *  page's other ones. */
const pages = ['store.md', 'ai-sdk.md', 'agent.md', 'testing-your-app.md', 'drivers.md', 'transactions.md']

/** The programs in the pages. */
export function readPageExamples(): readonly DocExample[] {
  return pages.flatMap(page => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
      const place = `docs/${page}:${text.slice(0, index).split('\n').length}`
      const [, file] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? []
      return { place, code, ...(file !== undefined && { file: `${page}/${file}` }) }
    })
  })
}

function examplesIn(path: string, text: string): readonly DocExample[] {
  return parseSync(path, text).comments.flatMap(({ type, value, start }) => {
    if (type !== 'Block' || !value.startsWith('*')) return []
    const place = `${path}:${text.slice(0, start).split('\n').length}`
    return readDocComment(value).examples.map(code => ({ place, code }))
  })
}

/** The output that an example promises: the comment behind a `console.log`, or the comment lines below it.
 *  `…` matches any text. */
export function promisedOutput(code: string): readonly string[] {
  let isPrinting = false
  return code.split('\n').flatMap(line => {
    const [, comment] = /^\s*\/\/ ?(.*)$/.exec(line) ?? []
    if (comment !== undefined) return isPrinting ? [comment] : []
    const [, printed] = /console\.log\(.*\)\s*\/\/ ?(.*)$/.exec(line) ?? []
    isPrinting = /console\.log\(/.test(line) && printed === undefined
    return printed === undefined ? [] : [printed]
  })
}

/** Whether an example printed the promised lines and no others. Empty lines do not count. */
export function isAsPromised(promised: readonly string[], output: string): boolean {
  const lines = output.split('\n').filter(line => line !== '')
  const expected = promised.filter(line => line !== '')
  return lines.length === expected.length && lines.every((line, index) => matches(expected[index]!, line))
}

function matches(promised: string, line: string): boolean {
  const pattern = promised.split('…').map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('.*')}$`).test(line)
}
