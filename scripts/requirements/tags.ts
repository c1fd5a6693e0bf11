import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from '../check/command.ts'
import { isTagList, numbersIn } from './requirements.ts'

/** A file of the repository; `path` is relative to it. */
export interface TextFile {
  readonly path: string
  readonly text: string
}

/** Where tests are: the test files, and the cases that every store driver has to pass. */
const testFolders = ['test', 'src/testing']

/** The files of some folders whose names end with one of the endings. */
export function readTexts(folders: readonly string[], ...endings: readonly string[]): readonly TextFile[] {
  return folders
    .flatMap(folder => pathsBelow(folder))
    .filter(path => endings.some(ending => path.endsWith(ending)))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The files of all tests. */
export function readTests(): readonly TextFile[] {
  return readTexts(testFolders, '.ts')
}

/** The requirement numbers that a file names in tags. A tag is a list of numbers in parentheses; in a test it
 *  ends the name of the test: `it('keeps the question when the model fails (S3-76)'`. */
export function tagsIn({ path, text }: TextFile): readonly string[] {
  const pattern = isTest(path) ? /\(([^()\n]*)\)(?=['"`])/g : /\(([^()\n]*)\)/g
  const lists = [...text.matchAll(pattern)].map(([, list]) => list!)
  return [...new Set(lists.filter(isTagList).flatMap(numbersIn))]
}

/** Tags in a file of tests that do not end a name, and are therefore not counted: `unless (C16); else`. */
export function misplacedTags({ text }: TextFile): readonly string[] {
  return [...text.matchAll(/(['"`])[^\n'"`]*\(([^()\n]*)\)[^\n'"`]+\1, (?:async )?\(/g)]
    .filter(([, , list]) => isTagList(list!))
    .map(([found]) => found)
}

/** The files whose tests carry each tag, in order of their paths. */
export function filesByTag(files: readonly TextFile[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const file of files) {
    for (const tag of tagsIn(file)) found.set(tag, [...(found.get(tag) ?? []), file.path])
  }
  return found
}

function isTest(path: string): boolean {
  return testFolders.some(folder => path.startsWith(`${folder}/`))
}

function pathsBelow(folder: string): readonly string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(path => posix.join(folder, path.replaceAll('\\', '/')))
      .sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
