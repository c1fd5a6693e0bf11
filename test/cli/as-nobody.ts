import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

/** Runs the command as somebody who may do nothing here. Everything is loaded first, as root: the repository itself
 *  may stand where nobody else can read it. */
const nobody = 65_534
const source = join(import.meta.dirname, '../../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })

for (const file of files) {
  if (file.endsWith('.ts') && file !== join('cli', 'bin.ts')) await import(join(source, file))
}
await import('string-width')
await (await openSqliteStore(':memory:')).close()

process.setgroups!([])
process.setgid!(nobody)
process.setuid!(nobody)

const { main } = await import('../../src/cli/main.ts')
await main()
