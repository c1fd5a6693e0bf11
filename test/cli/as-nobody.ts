import { readdirSync } from 'node:fs'
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** Runs the command as somebody who may do nothing here. Everything is loaded first, as root: the repository itself
 *  may stand where nobody else can read it. */
const nobody = 65_534
const source = join(import.meta.dirname, '../../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })

// A module that is loaded is looked for on the disk all the same when another file imports it.
const known = new Map<string, ResolveFnOutput>()
registerHooks({
  resolve(specifier, context, next) {
    const name = /^[./]/.test(specifier) ? new URL(specifier, context.parentURL).href : specifier
    const found = known.get(name) ?? next(specifier, context)
    known.set(name, found)
    return { ...found, shortCircuit: true }
  },
})

for (const file of files) {
  if (file.endsWith('.ts') && file !== join('cli', 'bin.ts')) await import(join(source, file))
}
// So that everything that is imported later has been looked for once.
await import('string-width')
await import('../../src/cli/main.ts')
await (await openSqliteStore(':memory:')).close()

process.setgroups!([])
process.setgid!(nobody)
process.setuid!(nobody)

const { main } = await import('../../src/cli/main.ts')
await main()
