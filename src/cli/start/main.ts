import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type CommandBundle, compiledPaths, compiledScript, runCompiled } from './compiled.ts'

/** Stands in for `cli/main.ts` in the command that is built: runs the bundle of it that lies beside. */
async function runBundle(): Promise<void> {
  await load(join(import.meta.dirname, 'main.cjs')).main()
  // With nothing left to wait for, Node would only take its heap apart, piece by piece, before it ends.
  if (process.getActiveResourcesInfo().length === 0) process.exit()
}

function load(bundle: string): CommandBundle {
  // The stack of an error names the lines of the source where Node itself has loaded the file and its source map.
  const debug = process.argv.includes('--debug')
  if (debug) process.setSourceMapsEnabled(true)
  const code = debug ? undefined : readIfThere(compiledPaths(bundle).code)
  return code
    ? runCompiled(bundle, compiledScript(bundle, code))
    : (createRequire(bundle)(bundle) as CommandBundle)
}

/** Nothing for a Node that did not build it: then the bundle is compiled as any other file. */
function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

export { runBundle as main }
