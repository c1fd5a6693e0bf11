import { join, relative } from 'node:path'
import type { Ignore } from 'ignore'
import { files } from './local-workspace.ts'
import { mayHoldSecrets } from './project-path.ts'

/** A file of a project. */
export interface ProjectFile {
  /** Absolute. */
  readonly path: string
  /** Relative to the directory that was walked, with `/`. */
  readonly name: string
  readonly mayHoldSecrets: boolean
}

/** The files below a directory, without those that `.gitignore` files and `.git/info/exclude` leave out.
 *  Links are not followed. `root` is the project, whose `.gitignore` files above the directory count too. */
export async function* projectFiles(
  directory: string,
  root: string,
  signal: AbortSignal,
): AsyncGenerator<ProjectFile> {
  const { default: ignore } = await import('ignore')
  const { readdir, readFile } = await files()
  const rules: Rules[] = []
  const add = async (at: string, file: string) => {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text !== '') rules.push({ at, ignore: ignore().add(text) })
  }
  await add(root, join(root, '.git', 'info', 'exclude'))
  for (const above of pathsBetween(root, directory)) await add(above, join(above, '.gitignore'))
  yield* walk(directory)

  async function* walk(folder: string): AsyncGenerator<ProjectFile> {
    signal.throwIfAborted()
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const known = rules.length
    if (entries.some(({ name }) => name === '.gitignore')) await add(folder, join(folder, '.gitignore'))
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name)
      if (entry.name === '.git' || isIgnored(path, entry.isDirectory())) continue
      if (entry.isDirectory()) yield* walk(path)
      else if (entry.isFile())
        yield { path, name: slashed(relative(directory, path)), mayHoldSecrets: mayHoldSecrets(path) }
    }
    rules.length = known
  }

  /** The rules of a deeper directory come last and win, as in git. */
  function isIgnored(path: string, isDirectory: boolean): boolean {
    let ignored = false
    for (const { at, ignore: rule } of rules) {
      const name = slashed(relative(at, path)) + (isDirectory ? '/' : '')
      const found = rule.test(name)
      if (found.ignored) ignored = true
      else if (found.unignored) ignored = false
    }
    return ignored
  }
}

interface Rules {
  /** The directory that the rules are relative to. */
  readonly at: string
  readonly ignore: Ignore
}

/** The directories from `root` to above `directory`. */
function pathsBetween(root: string, directory: string): readonly string[] {
  const steps = relative(root, directory)
    .split('/')
    .filter(step => step !== '' && step !== '..')
  return steps.map((_, i) => join(root, ...steps.slice(0, i)))
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/')
}

/** A test for names by a pattern: `*`, `**`, `?` and `{a,b}`. A pattern without a slash is about the last
 *  part of a name; one without these characters finds names that contain it. */
export function nameTest(pattern: string): (name: string) => boolean {
  if (!/[*?{]/.test(pattern)) {
    const part = pattern.toLowerCase()
    return name => name.toLowerCase().includes(part)
  }
  const source = pattern
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?|\{[^{}]*\}/g, found => {
      if (found === '**/') return '(?:.*/)?'
      if (found === '**') return '.*'
      if (found === '*') return '[^/]*'
      if (found === '?') return '[^/]'
      return `(?:${found.slice(1, -1).replaceAll('*', '[^/]*').split(',').join('|')})`
    })
  const test = new RegExp(`^${source}$`)
  return pattern.includes('/')
    ? name => test.test(name)
    : name => test.test(name.slice(name.lastIndexOf('/') + 1))
}
