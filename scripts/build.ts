import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundleCommand } from './build/bundle.ts'
import { root, run } from './check/command.ts'

/** Builds `dist/`: the library as plain modules with their types, and the command as a bundle that starts
 *  fast. */

const command = join(root, 'dist/cli')
// Everything, because a module that was moved or deleted would stay and be packed.
rmSync(join(root, 'dist'), { recursive: true, force: true })
await run('tsc', ['-p', 'tsconfig.build.json'])
await bundleCommand(command)
await run(process.execPath, [join(root, 'scripts/build/compile.ts'), join(command, 'main.cjs')])
