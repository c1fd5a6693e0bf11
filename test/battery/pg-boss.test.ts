import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { note } from './note.ts'
import { isFull } from './size.ts'

const root = join(import.meta.dirname, '../..')
const bin = (name: string) => join(root, 'node_modules/.bin', name)

// pg-boss is a dependency of the example alone, and comes from the registry, which the gate must not need.
describe.runIf(isFull)('the example of tasks under pg-boss', () => {
  it('compiles, and a job that is delivered twice is one turn', { timeout: 600_000 }, async () => {
    await run(process.execPath, [join(root, 'scripts/build.ts')], root)
    // Not below node_modules, where Node runs no TypeScript.
    const place = mkdtempSync(join(tmpdir(), 'pg-boss-'))
    onTestFinished(() => rmSync(place, { recursive: true, force: true }))
    cpSync(join(root, 'examples/pg-boss'), place, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
    note('pg-boss', manifest.dependencies['pg-boss'])
    // The package of this folder instead of a released one.
    delete manifest.dependencies.skein
    writeFileSync(join(place, 'package.json'), JSON.stringify(manifest))
    await run('npm', ['install', '--no-audit', '--no-fund'], place)
    const link = (name: string, target: string) => {
      const path = join(place, 'node_modules', name)
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(target, path)
    }
    link('skein', root)
    for (const name of ['@types/node', 'undici-types']) link(name, join(root, 'node_modules', name))
    await run(bin('tsc'), ['-p', 'tsconfig.json'], place)
    const env = { ...process.env, DATABASE_URL: await createDatabase(await postgresUrl()) }
    const said = await run(process.execPath, ['worker.ts'], place, env)
    expect(said).toBe(
      '#1: Nice to meet you, Ada.\n#2: Your name is Ada.\n#2: Your name is Ada.\n4 messages\n',
    )
  })
})

async function run(
  file: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  return (await promisify(execFile)(file, [...args], { cwd, env })).stdout
}
