import { statSync } from 'node:fs'
import type { MediaBlock } from '../../core/block.ts'
import { attachFile, type PathBase, resolvePath } from './attach-file.ts'
import { looksLikePath, mentionsIn, possiblePaths } from './file-mentions.ts'

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
