import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../check/command.ts'
import { readDocComment } from './doc-comment.ts'
import { type ApiDeclaration, apiReader } from './module.ts'

/** One entry of `exports` in package.json, with what it exports. */
export interface EntryPoint {
  /** As it is imported: `skein/agent`. */
  readonly name: string
  /** The header comment of its `index.ts`, or an empty text. */
  readonly header: string
  readonly declarations: readonly ApiDeclaration[]
}

/** Reads the entry points from the emitted types in `dist`, or from the sources with the same comments. */
export function readEntryPoints(from: 'dist' | 'src'): readonly EntryPoint[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  const reader = apiReader()
  return Object.entries(exports)
    .filter(([, target]) => target.endsWith('.js'))
    .map(([subpath, target]) => {
      const source = target.replace('./dist/', './src/').replace(/\.js$/, '.ts')
      const path = from === 'src' ? source : target.replace(/\.js$/, '.d.ts')
      return {
        name: `skein${subpath.slice(1)}`,
        header: headerOf(readFileSync(join(root, source), 'utf8')),
        declarations: reader.exportsOf(join(root, path)),
      }
    })
}

/** The comment at the top of a file, if it speaks of the file: an empty line or an import follows it. */
function headerOf(text: string): string {
  const [, comment] = /^\/\*(\*[\s\S]*?)\*\/\n(?=\n|import |export (?:type )?\{)/.exec(text) ?? []
  return comment === undefined ? '' : readDocComment(comment).text
}

/** The exports and members of an entry point that have no doc comment: `Store`, `Message.depth`. */
export function undocumented({ declarations }: EntryPoint): readonly string[] {
  return declarations.flatMap(({ name, comment, members }) => [
    ...(comment?.text ? [] : [name]),
    ...members.filter(member => !member.comment?.text).map(member => `${name}.${member.name}`),
  ])
}

/** The types that declarations of an entry point name and that no entry point exports. */
export function unexported(entry: EntryPoint, entries: readonly EntryPoint[]): readonly string[] {
  const exported = new Set(entries.flatMap(({ declarations }) => declarations.map(({ name }) => name)))
  return entry.declarations.flatMap(({ name, references }) =>
    references.filter(reference => !exported.has(reference)).map(reference => `${name}: ${reference}`),
  )
}
