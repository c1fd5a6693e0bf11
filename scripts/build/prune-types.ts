import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Removes the declarations that no entry point of the package leads to: those of the command, and of
 *  parts that no public type mentions. The others are indented with tabs, which takes 35 kB less. Where no
 *  entry point exports anything from a file, its comments are removed, 70 kB: no program can name what
 *  they explain. */
export function pruneTypes(folder: string, entries: readonly string[]): void {
  const starts = entries.map(entry => resolve(folder, entry.replace(/\.js$/, '.d.ts')))
  const reached = reachedFrom(starts, /(?:from |import\()'(\.[^']+)\.(?:ts|js)'/g)
  const exported = reachedFrom(starts, /export (?:type )?(?:\*|\{[^}]*\}) from '(\.[^']+)\.(?:ts|js)'/g)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, name)
    if (!name.endsWith('.d.ts')) continue
    if (!reached.has(file)) rmSync(file)
    else {
      const text = indentWithTabs(readFileSync(file, 'utf8'))
      writeFileSync(file, exported.has(file) ? text : withoutComments(text))
    }
  }
}

/** The files that a chain of references leads to. */
function reachedFrom(starts: readonly string[], reference: RegExp): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [...starts]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(reference))
      waiting.push(resolve(dirname(file), `${path}.d.ts`))
  }
  return reached
}

/** The compiler indents by four spaces. */
function indentWithTabs(text: string): string {
  return text.replace(/^(?: {4})+/gm, spaces => '\t'.repeat(spaces.length / 4))
}

function withoutComments(text: string): string {
  return text.replace(/^\t*\/\*\*[\s\S]*?\*\/\n/gm, '')
}
