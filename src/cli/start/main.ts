import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type CommandBundle, compiledPaths, compiledScript, runCompiled } from './compiled.ts'

/** Replaces `cli/main.ts` in the built command: runs the bundle in the same folder. */
async function runBundle(): Promise<void> {
  await load(join(import.meta.dirname, 'main.cjs')).main()
  // With no pending work, exiting at once saves the time that Node would spend on freeing its heap.
  if (process.getActiveResourcesInfo().length === 0) process.exit()
}

function load(bundle: string): CommandBundle {
  // Node maps the stack of an error to source lines only for files that it has loaded itself.
  const debug = process.argv.includes('--debug')
  if (debug) process.setSourceMapsEnabled(true)
  const code = debug ? undefined : readIfThere(compiledPaths(bundle).code)
  return code
    ? runCompiled(bundle, compiledScript(bundle, code))
    : (createRequire(bundle)(bundle) as CommandBundle)
}

/** Undefined for a Node version that did not build it: the bundle is then compiled as usual. */
function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

export { runBundle as main }
