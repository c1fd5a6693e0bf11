import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { join } from 'node:path'
import { Script } from 'node:vm'
import type { CompiledCode } from './code-file.ts'

/** A file that imports packages for the others, and that Node loads itself. From a script that is run here,
 *  an import is experimental, and Node would say so on stderr. */
export const importingFile = 'import.cjs'

/** The exports of `main.cjs`. */
export interface CommandBundle {
  main(): Promise<void>
  commandName(): string | null
}

/** The bundle of the command, run from compiled code. */
export interface RunningBundle {
  readonly exports: CommandBundle
  /** Whether V8 has refused code of another version or other settings. */
  isRefused(): boolean
  /** Whether a script was loaded for which there was no code. */
  isIncomplete(): boolean
  /** The code of all scripts that are loaded, with the functions that have been called. */
  compiled(): ReadonlyMap<string, Uint8Array>
}

/** Runs `main.cjs` of a folder as Node would, and the files of the folder that it requires, but from code
 *  that V8 need not compile again. */
export function runBundle(folder: string, code: CompiledCode | null): RunningBundle {
  const nodeRequire = createRequire(join(folder, 'main.cjs'))
  const require = Object.assign(
    (id: string): unknown => (isOurs(id) ? load(id.slice(2)) : nodeRequire(id)),
    nodeRequire,
  )
  const scripts = new Map<string, Script>()
  let isRefused = false
  let isIncomplete = false
  return {
    exports: load('main.cjs') as CommandBundle,
    isRefused: () => isRefused,
    isIncomplete: () => isIncomplete,
    compiled: () => new Map(Array.from(scripts, ([name, script]) => [name, script.createCachedData()])),
  }

  function load(name: string): unknown {
    const path = join(folder, name)
    const loaded = nodeRequire.cache[path]
    if (loaded) return loaded.exports
    const module = new Module(path)
    nodeRequire.cache[path] = module
    try {
      scriptOf(name).runInThisContext()(module.exports, require, module, path, folder)
    } catch (error) {
      delete nodeRequire.cache[path]
      throw error
    }
    module.loaded = true
    return module.exports
  }

  function scriptOf(name: string): Script {
    const known = code?.scripts.get(name)
    const script = compileFile(folder, name, known)
    if (script.cachedDataRejected) isRefused = true
    if (!known) isIncomplete = true
    scripts.set(name, script)
    return script
  }
}

/** Compiles a file of the bundle as one function with the parameters of a CommonJS module. */
export function compileFile(folder: string, name: string, code?: Uint8Array): Script {
  const filename = join(folder, name)
  // The build writes the largest file in ASCII.
  const source = readFileSync(filename, name === 'main.cjs' ? 'latin1' : 'utf8')
  return new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename,
    ...(code && { cachedData: code }),
  })
}

function isOurs(id: string): boolean {
  return /^\.\/[\w-]+\.cjs$/.test(id) && id !== `./${importingFile}`
}
