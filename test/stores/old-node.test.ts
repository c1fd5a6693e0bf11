import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { requireNode } from '../../src/system/version.ts'

const root = join(import.meta.dirname, '../..')
const needs = (version: string) => `this is Node ${version}: Skein needs Node 22.14 or newer`

describe('a Node that is too old', () => {
  it('is named with the version that is needed (L14)', () => {
    const versions = { ...process.versions, node: '20.20.2', napi: '9' }
    expect(() => requireNode(versions)).toThrow(needs('20.20.2'))
    expect(() => requireNode()).not.toThrow()
  })

  const old = findOldNode()
  it.skipIf(old === null)(
    `gets a MisconfiguredError from every function that opens a store${old ? '' : ': no old Node on this machine'}`,
    async () => {
      const place = mkdtempSync(join(tmpdir(), 'old-node-'))
      try {
        symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
        await bundle(place)
        const script = `
          import { openStore } from '${place}/index.mjs'
          import { openSqliteStore } from '${place}/sqlite.mjs'
          import { openPostgresStore } from '${place}/postgres.mjs'
          const file = '${place}/a.db'
          for (const open of [openStore, openSqliteStore, openPostgresStore])
            await open(file).catch(error => console.log(error.name, error.code, error.message))`
        const { stdout, status, signal } = spawnSync(old!.path, ['--input-type=module', '-e', script], {
          encoding: 'utf8',
        })
        const line = `MisconfiguredError misconfigured ${needs(old!.version)}\n`
        expect({ stdout, status, signal }).toEqual({ stdout: line.repeat(3), status: 0, signal: null })
      } finally {
        rmSync(place, { recursive: true, force: true })
      }
    },
  )
})

/** The machine's own Node, if it is older than what Skein needs. */
function findOldNode(): { readonly path: string; readonly version: string } | null {
  for (const path of ['/usr/bin/node', '/usr/local/bin/node']) {
    const { stdout } = spawnSync(path, ['-p', 'process.versions.napi + " " + process.versions.node'], {
      encoding: 'utf8',
    })
    const [napi, version] = stdout?.trim().split(' ') ?? []
    if (version && Number(napi) < 10) return { path, version }
  }
  return null
}

/** The entry points as JavaScript, as in the package: an old Node cannot run TypeScript. */
async function bundle(place: string): Promise<void> {
  const built = await rolldown({
    input: {
      index: join(root, 'src/index.ts'),
      sqlite: join(root, 'src/stores/sqlite/index.ts'),
      postgres: join(root, 'src/stores/postgres/index.ts'),
    },
    platform: 'node',
    transform: { target: 'node20' },
    external: id => !/^[./]|^@oxc-project/.test(id),
  })
  await built.write({ dir: place, format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' })
  await built.close()
}
