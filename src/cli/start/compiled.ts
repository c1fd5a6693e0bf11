import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { constants, Script } from 'node:vm'

/** What the bundle of the command exports. */
export interface CommandBundle {
  main(): Promise<void>
}

/** Where the compiled form of a bundle lies: its source, made compact, and the code that V8 has made of it. V8 takes
 *  code only from its own version; machines of another kind are kept apart by the name. */
export function compiledPaths(bundle: string): { readonly source: string; readonly code: string } {
  const source = bundle.replace(/\.cjs$/, '.compact.js')
  return { source, code: `${source}.${process.version}-${process.platform}-${process.arch}` }
}

/** Makes of a compact source something to run, from `code` if there is some: V8 then need not read the source.
 *  The source is one function of what CommonJS gives a module, and ASCII, which V8 keeps in half the room. */
export function compiledScript(bundle: string, code?: Buffer): Script {
  return new Script(readFileSync(compiledPaths(bundle).source, 'latin1'), {
    filename: bundle,
    ...(code && { cachedData: code }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
}

/** Runs it in the place of the bundle: the bundle's other files, which ask for that by its path, get this. */
export function runCompiled(bundle: string, script: Script): CommandBundle {
  const module = new Module(bundle)
  const require = createRequire(bundle)
  require.cache[bundle] = module
  script.runInThisContext()(module.exports, require, module, bundle, dirname(bundle))
  module.loaded = true
  return module.exports as CommandBundle
}
