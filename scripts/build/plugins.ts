import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/** Modules of Node that load slowly and that most commands never call. */
const costly = ['node:crypto', 'node:child_process', 'node:timers/promises', 'node:os', 'node:tty']

/** Whether one of these plugins replaces an import. */
export function isReplaced(id: string): boolean {
  return costly.includes(id) || id === 'better-sqlite3'
}

const prefix = '\0later:'

/** Loads some modules of Node on the first call of one of their functions instead of with the bundle. */
export const builtinsLater: Plugin = {
  name: 'builtins-later',
  resolveId: id => (costly.includes(id) ? `${prefix}${id}` : null),
  load(id) {
    if (!id.startsWith(prefix)) return null
    const name = id.slice(prefix.length)
    const functions = Object.entries(process.getBuiltinModule(name) ?? {}).filter(
      // A name with a capital is a class and must be called with `new`.
      ([key, value]) => typeof value === 'function' && /^[a-z]\w*$/.test(key) && key !== 'default',
    )
    return functions
      .map(
        ([key]) =>
          `export function ${key}(...args) { return process.getBuiltinModule('${name}').${key}(...args) }`,
      )
      .join('\n')
  },
}

const driver = '\0better-sqlite3'

/** Bundles the JavaScript of better-sqlite3: finding and reading its fourteen files takes longer than a
 *  query. The addon stays where it is installed. If it is not the expected version, the installed package is
 *  used. */
export function bundledDriver(root: string): Plugin {
  const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json')
  const { version } = createRequire(import.meta.url)(manifest) as { version: string }
  const lib = join(dirname(manifest), 'lib')
  return {
    name: 'bundled-driver',
    resolveId: id => (id === 'better-sqlite3' ? driver : null),
    load(id) {
      if (id !== driver) return null
      return `
        import { createRequire } from 'node:module'
        import createDatabase from ${JSON.stringify(join(lib, 'database.js'))}
        import SqliteError from ${JSON.stringify(join(lib, 'sqlite-error.js'))}
        import { findAddon } from ${JSON.stringify(join(root, 'src/cli/start/sqlite-addon.ts'))}
        const require = createRequire(import.meta.filename)
        let chosen
        function choose() {
          const addon = findAddon(${JSON.stringify(version)})
          if (addon === null) return require('better-sqlite3')
          return Object.assign(createDatabase(() => require(addon), false), { SqliteError })
        }
        export default function Database(...args) {
          chosen ??= choose()
          return new chosen(...args)
        }`
    },
  }
}
