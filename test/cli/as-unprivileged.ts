import { readdirSync } from 'node:fs'
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** Runs a command that reads or changes a store as an unprivileged user. Loads its modules first, as root:
 *  other users may not be able to read the repository. */
const unprivileged = 65_534
const source = join(import.meta.dirname, '../../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })

// Node looks for a file on the disk even if its module is loaded.
const known = new Map<string, ResolveFnOutput>()
registerHooks({
  resolve(specifier, context, next) {
    const name = /^[./]/.test(specifier) ? new URL(specifier, context.parentURL).href : specifier
    const found = known.get(name) ?? next(specifier, context)
    known.set(name, found)
    return { ...found, shortCircuit: true }
  },
})

/** The other commands and what only they import, which takes half of the time to load. */
const others =
  /^(acp|adapters|channels|client|dispatch|mcp|server|testing|cli\/(acp|agent|chat|discord|dispatch|mcp|serve|set-up))\//
for (const file of files) {
  const isNamed = file.startsWith(join('cli', process.argv[2]!, '/'))
  if (!file.endsWith('.ts') || file === join('cli', 'bin.ts') || (others.test(file) && !isNamed)) continue
  await import(join(source, file))
}
// Loads everything once that is loaded later: `string-width` with the first text beyond ASCII.
;(await import('../../src/cli/output/cut.ts')).widthOf('👋')
await import('../../src/cli/main.ts')
await (await openSqliteStore(':memory:')).close()

process.setgroups!([])
process.setgid!(unprivileged)
process.setuid!(unprivileged)

const { main } = await import('../../src/cli/main.ts')
await main()
