import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Removes the declarations that no entry point of the package leads to: those of the command, and of parts
 *  that no public type mentions. The others are indented with tabs, which takes 35 kB less. */
export function pruneTypes(folder: string, entries: readonly string[]): void {
  const reached = new Set<string>()
  const waiting = entries.map(entry => resolve(folder, entry.replace(/\.js$/, '.d.ts')))
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)\.(?:ts|js)'/g))
      waiting.push(resolve(dirname(file), `${path}.d.ts`))
  }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, name)
    if (!name.endsWith('.d.ts')) continue
    if (reached.has(file)) writeFileSync(file, indentWithTabs(readFileSync(file, 'utf8')))
    else rmSync(file)
  }
}

/** The compiler indents by four spaces. */
function indentWithTabs(text: string): string {
  return text.replace(/^(?: {4})+/gm, spaces => '\t'.repeat(spaces.length / 4))
}
