import { existsSync, readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { join } from 'node:path'
import { type CompiledCode, codeFileName, decodeCode } from './code-file.ts'
import { type CommandBundle, runBundle } from './run-bundle.ts'
import { cacheFolder, keepUsersCode, readUsersCode } from './users-code.ts'

/** The hash of `main.cjs`, which the build inserts. The names of the other files contain theirs. */
declare const bundleHash: string

/** Replaces `cli/main.ts` in the built command: runs the bundle in the same folder. */
async function start(): Promise<void> {
  if (process.argv.includes('--debug')) await runReadable()
  else await runCompiled()
  // With no pending work, exiting at once saves the time that Node would spend on freeing its heap.
  if (process.getActiveResourcesInfo().length === 0) process.exit()
}

/** Node maps the stack of an error to source lines only for files that it has loaded itself. Only a clone has
 *  the file that belongs to the source map. */
async function runReadable(): Promise<void> {
  process.setSourceMapsEnabled(true)
  const bundle = join(import.meta.dirname, 'main.cjs')
  const readable = join(import.meta.dirname, 'main.readable.cjs')
  const require = createRequire(bundle)
  if (existsSync(readable)) {
    const module = new Module(readable) as Module & { load(path: string): void }
    // The other files require it by this name.
    require.cache[bundle] = module
    module.load(readable)
  }
  await (require(bundle) as CommandBundle).main()
}

/** A clone has the code of the Node that built it. An installed command keeps its own. */
async function runCompiled(): Promise<void> {
  const name = codeFileName(bundleHash)
  const built = readBuiltCode(join(import.meta.dirname, name))
  if (built) return runBundle(import.meta.dirname, built).exports.main()
  const folder = cacheFolder(process.env)
  const known = folder === null ? null : readUsersCode(join(folder, name))
  const bundle = runBundle(import.meta.dirname, known)
  await bundle.exports.main()
  if (folder === null || bundle.isRefused()) return
  const command = bundle.exports.commandName()
  if (command === null || (known?.commands.includes(command) && !bundle.isIncomplete())) return
  keepUsersCode(folder, name, {
    commands: [...new Set([...(known?.commands ?? []), command])],
    scripts: new Map([...(known?.scripts ?? []), ...bundle.compiled()]),
  })
}

function readBuiltCode(file: string): CompiledCode | null {
  try {
    return decodeCode(readFileSync(file))
  } catch {
    return null
  }
}

export { start as main }
