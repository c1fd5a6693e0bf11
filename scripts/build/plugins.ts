import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/** A plugin that replaces some external modules. */
export interface Replacing extends Plugin {
  isReplaced(id: string): boolean
}

/** Modules of Node that load slowly and that most programs never call. */
const costly = ['node:crypto', 'node:child_process', 'node:timers/promises', 'node:os', 'node:tty']

/** Modules that an ES module loads with everything they can do: `fs/promises` and the streams with
 *  `node:fs`. */
const costlyAsImports = [...costly, 'node:fs', 'node:util']

const prefix = '\0later:'

/** Loads some modules of Node on the first call of one of their functions instead of with the bundle. */
export function builtinsLater(format: 'cjs' | 'esm'): Replacing {
  const replaced = format === 'cjs' ? costly : costlyAsImports
  return {
    name: 'builtins-later',
    isReplaced: id => replaced.includes(id),
    resolveId: id => (replaced.includes(id) ? `${prefix}${id}` : null),
    load(id) {
      if (!id.startsWith(prefix)) return null
      const name = id.slice(prefix.length)
      const members = Object.entries(process.getBuiltinModule(name) ?? {}).filter(([key]) =>
        /^[a-zA-Z]\w*$/.test(key),
      )
      return [
        `let loaded`,
        `function load() { return (loaded ??= process.getBuiltinModule('${name}')) }`,
        ...members.flatMap(([key, value]) => {
          // A name with a capital is a class and must be called with `new`.
          if (typeof value === 'function' && /^[a-z]/.test(key))
            return `export function ${key}(...args) { return load().${key}(...args) }`
          return key === 'constants'
            ? `export const constants = /* @__PURE__ */ (() => load().constants)()`
            : []
        }),
      ].join('\n')
    },
  }
}

/** The first line of a file with the JavaScript of better-sqlite3. */
export const driverNotice =
  '/*! Holds the JavaScript of better-sqlite3, MIT License, Copyright (c) 2017 Joshua Wise. */'

const driver = '\0better-sqlite3'

/** Bundles the JavaScript of better-sqlite3: finding and reading its fourteen files takes longer than a
 *  query. The addon stays where it is installed. If it is not the expected version, the installed package is
 *  used. With `ownError`, so is its class of errors: a program that imports better-sqlite3 itself gets errors
 *  of the class that it knows. */
export function bundledDriver(root: string, { ownError }: { ownError: boolean }): Replacing {
  const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json')
  const { version } = createRequire(import.meta.url)(manifest) as { version: string }
  const lib = join(dirname(manifest), 'lib')
  return {
    name: 'bundled-driver',
    isReplaced: id => id === 'better-sqlite3',
    resolveId: id => (id === 'better-sqlite3' ? driver : null),
    transform(code, id) {
      return ownError && id === join(lib, 'database.js') ? takeErrorClass(code) : null
    },
    load(id) {
      if (id !== driver) return null
      return `
        import { createRequire } from 'node:module'
        import createDatabase from ${JSON.stringify(join(lib, 'database.js'))}
        ${ownError ? '' : `import SqliteError from ${JSON.stringify(join(lib, 'sqlite-error.js'))}`}
        import { findDriver } from ${JSON.stringify(join(root, 'src/stores/sqlite/find-driver.ts'))}
        const require = createRequire(import.meta.filename)
        let chosen
        function choose() {
          const driver = findDriver(${JSON.stringify(version)})
          if (driver === null) return require('better-sqlite3')
          // For threads, which have to use the same one (blocking-work-thread.ts).
          Database.addon = driver.addon
          ${ownError ? 'const SqliteError = require(driver.error)' : ''}
          return Object.assign(createDatabase(() => require(driver.addon), false, SqliteError), { SqliteError })
        }
        export default function Database(...args) {
          chosen ??= choose()
          return new chosen(...args)
        }`
    },
  }
}

/** The code of better-sqlite3 with its class of errors as a parameter. */
function takeErrorClass(code: string): string {
  const taken = code
    .replace(`const SqliteError = require('./sqlite-error');\n`, '')
    .replace(
      'createDatabase(getAddon, allowNativeBinding)',
      'createDatabase(getAddon, allowNativeBinding, SqliteError)',
    )
  if (
    taken.length !==
    code.length + ', SqliteError'.length - `const SqliteError = require('./sqlite-error');\n`.length
  )
    throw new Error('the code of better-sqlite3 has changed: it does not take a class of errors')
  return taken
}

/** Hides `createRequire` from other bundlers: webpack evaluates it when it bundles, and puts `undefined` in
 *  its place if it cannot. */
export function hiddenRequire(): Plugin {
  return {
    name: 'hidden-require',
    renderChunk: code =>
      code.includes('createRequire')
        ? code
            .replace(/^import \{ createRequire \} from "node:module";\n/m, '')
            .replaceAll(
              'createRequire(import',
              'process.getBuiltinModule("node:module").createRequire(import',
            )
        : null,
  }
}

/** Removes the indentation of statements, 20 kB, and the indentation and comments of PostgreSQL's migrations,
 *  20 kB. A minifier must keep both: they are part of a text. SQLite stores the text of its migrations in the
 *  schema. */
export function flatStatements(): Plugin {
  return {
    name: 'flat-statements',
    // The lines of the source map stay right.
    transform: (code, id) => {
      if (/[\\/]src[\\/]stores[\\/]\w+[\\/]queries[\\/]/.test(id))
        return { code: code.replace(/^ +/gm, ''), map: null }
      if (/[\\/]src[\\/]stores[\\/]postgres[\\/][\w-]*migrations\.ts$/.test(id))
        return { code: code.replace(/^ +/gm, '').replace(/^--.*/gm, ''), map: null }
      return null
    },
  }
}
