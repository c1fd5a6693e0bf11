import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { constants, Script } from 'node:vm'

/** The exports of the command's bundle. */
export interface CommandBundle {
  main(): Promise<void>
}

/** The paths of the compiled bundle: its minified source, and V8's code cache. V8 accepts a cache only from
 *  its own version; the name distinguishes platforms. */
export function compiledPaths(bundle: string): { readonly source: string; readonly code: string } {
  const source = bundle.replace(/\.cjs$/, '.compact.js')
  return { source, code: `${source}.${process.version}-${process.platform}-${process.arch}` }
}

/** Compiles the minified source, from the code cache if given, so that V8 need not parse it. The source is
 *  one function with the parameters of a CommonJS module, and ASCII, which V8 stores in half the memory. */
export function compiledScript(bundle: string, code?: Buffer): Script {
  return new Script(readFileSync(compiledPaths(bundle).source, 'latin1'), {
    filename: bundle,
    ...(code && { cachedData: code }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
}

/** Runs the script as if it were the bundle: the other files of the bundle that require its path get this
 *  module. */
export function runCompiled(bundle: string, script: Script): CommandBundle {
  const module = new Module(bundle)
  const require = createRequire(bundle)
  require.cache[bundle] = module
  script.runInThisContext()(module.exports, require, module, bundle, dirname(bundle))
  module.loaded = true
  return module.exports as CommandBundle
}
