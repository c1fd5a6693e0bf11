import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(import.meta.dirname, '../..')

/** docs/map.md. */
const mapPage = readFileSync(join(root, 'docs/map.md'), 'utf8')

/** The paths of the repository that a text has in backticks. */
export function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`((?:src|test|docs|examples)\/[^`\s]*|[A-Z]+\.md)`/g)].map(([, path]) => path!)
}

/** The numbered items of the section whose heading begins with this text. */
export function itemsOf(heading: string): readonly string[] {
  const section = mapPage.split(/^## /m).find(text => text.startsWith(heading))
  if (section === undefined) throw new Error(`docs/map.md has no section ${heading}`)
  return section.split(/^(?=\d+\. )/m).slice(1)
}

/** The files of a walk, each once. */
export function stationsOf(heading: string): readonly string[] {
  return [...new Set(itemsOf(heading).flatMap(pathsIn))]
}

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/** Collects the code coverage of processes that are started with this environment. */
export interface CoverageFolder {
  readonly env: { readonly NODE_V8_COVERAGE: string }
  /** The files of the repository in which a function was called. */
  filesThatRan(): ReadonlySet<string>
  [Symbol.dispose](): void
}

export function coverageFolder(): CoverageFolder {
  const folder = mkdtempSync(join(tmpdir(), 'skein-coverage-'))
  return {
    env: { NODE_V8_COVERAGE: folder },
    filesThatRan() {
      const reports = readdirSync(folder).map(
        name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage,
      )
      const used = reports
        .flatMap(({ result }) => result)
        // The first function of a file is the module itself.
        .filter(({ functions }) => functions.slice(1).some(({ ranges }) => ranges[0]!.count > 0))
      const files = used.map(({ url }) => url).filter(url => url.startsWith('file:'))
      return new Set(files.map(url => relative(root, fileURLToPath(url))))
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
