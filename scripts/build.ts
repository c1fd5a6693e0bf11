import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundleCommand, bundled } from './build/bundle.ts'
import { bundleLibrary } from './build/library.ts'
import { writeLicenses } from './build/licenses.ts'
import { pruneTypes } from './build/prune-types.ts'
import { forgetBuild, rememberBuild, stampOf } from './build/source-stamp.ts'
import { bundleVendor } from './build/vendor.ts'
import { root, run } from './check/command.ts'

/** Builds `dist/`: the types, the entry points of the library with the files that they share, and the
 *  command as a bundle that starts fast. */

const command = join(root, 'dist/cli')
const stamp = stampOf(root)
forgetBuild(root)
// Everything, because a module that was moved or deleted would stay and be packed.
rmSync(join(root, 'dist'), { recursive: true, force: true })
await run('tsc', ['-p', 'tsconfig.build.json'])
const files = await bundleLibrary(join(root, 'dist'))
pruneTypes(
  join(root, 'dist'),
  files.flatMap(({ name, isEntry }) => (isEntry ? [name] : [])),
)
await bundleCommand(command)
const vendored = await bundleVendor(join(root, 'dist/vendor'))
const inFiles = [...bundled, 'better-sqlite3'].map(name => join(root, 'node_modules', name))
writeLicenses([...inFiles, ...vendored], join(root, 'dist/licenses.txt'))
await run(process.execPath, [join(root, 'scripts/build/compile.ts'), join(command, 'main.cjs')])
rememberBuild(root, stamp)
