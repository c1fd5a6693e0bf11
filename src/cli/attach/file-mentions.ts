import { statSync } from 'node:fs'
import type { MediaBlock } from '../../core/block.ts'
import { attachFile, type PathBase, resolvePath } from './attach-file.ts'

/** The paths after `@` in a text, in their order, each once: `@src/a.ts`, `@"my notes.txt"`. The `@` begins a
 *  word, so an address such as ada@example.org has none. */
export function mentionsIn(text: string): readonly string[] {
  const found = [...text.matchAll(/(?<=^|[\s(])@(?:"([^"\n]+)"|([^\s"]+))/g)]
  return [...new Set(found.map(([, quoted, word]) => quoted ?? word!))]
}

/** The path as the text mentions it: with quotes if it has spaces. */
export function mentionOf(path: string): string {
  return /[\s"]/.test(path) ? `@"${path}"` : `@${path}`
}

/** The forms of a mentioned path to look for. The sentence may continue or end after it: `(see @a.ts).` */
function possiblePaths(path: string): readonly string[] {
  const bare = path.replace(/[.,;:!?)'\]]+$/, '')
  return bare === path || bare === '' ? [path] : [path, bare]
}

/** Whether a mention that names no file was probably meant as a path, and not as a name such as @ada. */
function looksLikePath(path: string): boolean {
  return /^[.~/]|\/.*\.\w+$|^[\w-]+\.\w{1,5}$/.test(path)
}

/** The files that a text mentions, and notes about mentions that stay text. */
export interface MentionedFiles {
  readonly files: readonly MediaBlock[]
  readonly notes: readonly string[]
}

/** Reads the files after `@`. A mention that names no file stays text. Throws UsageError for a file that
 *  cannot be sent. */
export async function readMentionedFiles(text: string, base: PathBase): Promise<MentionedFiles> {
  const files: MediaBlock[] = []
  const notes: string[] = []
  for (const mentioned of mentionsIn(text)) {
    const kinds = possiblePaths(mentioned).map(path => ({ path, kind: kindOf(path, base) }))
    const file = kinds.find(({ kind }) => kind === 'file')
    const folder = kinds.find(({ kind }) => kind === 'folder')
    if (file) files.push(await attachFile(file.path, base))
    else if (folder) notes.push(`@${folder.path} is a directory, so it is sent as text: attach single files`)
    else if (looksLikePath(kinds.at(-1)!.path))
      notes.push(`there is no file ${kinds.at(-1)!.path}, so @${mentioned} is sent as text`)
  }
  return { files, notes }
}

function kindOf(path: string, base: PathBase): 'file' | 'folder' | null {
  try {
    const found = statSync(resolvePath(path, base), { throwIfNoEntry: false })
    if (!found) return null
    return found.isDirectory() ? 'folder' : 'file'
  } catch {
    return null // Too long for a path, or below a folder that may not be read.
  }
}
