import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleCommand } from '../../scripts/build/bundle.ts'
import { bundleVendor } from '../../scripts/build/vendor.ts'

const root = join(import.meta.dirname, '../..')

/** The command from source: for coverage by file, and to compare it with the built one. */
export const sourceCommand = join(root, 'src/cli/bin.ts')

/** The variable with the folder of the built command, which `test/support/global-setup.ts` sets. */
const variable = 'SKEIN_TEST_COMMAND'

/** Bundles and compiles the command, in the layout of the package: `<place>/dist/cli`. Returns the path of
 *  the executable. */
export async function buildCommand(place: string): Promise<string> {
  const folder = join(place, 'dist/cli')
  copyFileSync(join(root, 'package.json'), join(place, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  await bundleCommand(folder)
  await bundleVendor(join(place, 'dist/vendor'))
  const compile = join(root, 'scripts/build/compile.ts')
  const compiled = spawnSync(process.execPath, [compile, join(folder, 'main.cjs')])
  if (compiled.status !== 0) throw new Error(String(compiled.stderr))
  return join(folder, 'skein.cjs')
}

/** The executable of the command, from the sources as they are now. A test run builds it once, when the first
 *  test needs it: the tests start hundreds of processes, and a bundle starts five times as fast as sources.
 *  Outside of a test run it is the source itself. */
export function builtCommand(): string {
  const place = process.env[variable]
  if (place === undefined) return sourceCommand
  if (!existsSync(place)) build(place)
  return join(place, 'dist/cli/skein.cjs')
}

/** Two workers may build at the same time: the first to finish wins, and both builds are equal. */
function build(place: string): void {
  const own = mkdtempSync(join(dirname(place), 'building-'))
  const { status, stderr } = spawnSync(process.execPath, [import.meta.filename, own])
  if (status !== 0) throw new Error(`the command cannot be built:\n${stderr}`)
  try {
    renameSync(own, place)
  } catch (error) {
    if (!existsSync(place)) throw error
    rmSync(own, { recursive: true, force: true })
  }
}

if (import.meta.main) await buildCommand(process.argv[2]!)
