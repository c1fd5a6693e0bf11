import { join } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { refuseTrouble, smallest } from './bundle.ts'
import type { Replacing } from './plugins.ts'

const root = join(import.meta.dirname, '../..')

/** Packages of which a small part is used: the names that we import from each. They are bundled into
 *  `dist/vendor`, once for the library and the command, which load them on demand. As dependencies they would
 *  take 18 MB of an installation, most of it declarations, source maps and other builds. */
const vendored: Readonly<Record<string, { readonly file: string; readonly names: readonly string[] }>> = {
  '@agentclientprotocol/sdk/unstable': {
    file: 'acp',
    names: ['agent', 'methods', 'ndJsonStream', 'PROTOCOL_VERSION', 'RequestError'],
  },
  '@hono/node-server': { file: 'hono-node', names: ['createAdaptorServer'] },
  '@hono/zod-openapi': { file: 'hono-openapi', names: ['OpenAPIHono'] },
  hono: { file: 'hono', names: ['Hono'] },
  lowlight: { file: 'lowlight', names: ['common', 'createLowlight'] },
  'lru-cache': { file: 'lru-cache', names: ['LRUCache'] },
  'zod-to-json-schema': { file: 'zod-to-json-schema', names: ['zodToJsonSchema'] },
}

/** Grammars that are left out, 40 kB: `highlight.ts` uses those of CSS and C++ for three of them. */
const leftOut = ['arduino', 'less', 'scss', 'vbnet']

/** Replaces the packages by their files in `dist/vendor`, which `imports` in package.json names. */
export function vendorFiles(): Replacing {
  const isReplaced = (id: string) => Object.hasOwn(vendored, id)
  return {
    name: 'vendor-files',
    isReplaced,
    resolveId: id => (isReplaced(id) ? { id: `#vendor/${vendored[id]!.file}`, external: true } : null),
  }
}

/** Bundles the packages into a folder. What we depend on ourselves stays a dependency of theirs. Returns the
 *  folders of all packages that are bundled. */
export async function bundleVendor(folder: string): Promise<readonly string[]> {
  const entries = Object.entries(vendored).map(([id, { file, names }]) => [file, id, names] as const)
  const build = await rolldown({
    input: Object.fromEntries(entries.map(([file]) => [file, `${prefix}${file}`])),
    platform: 'node',
    tsconfig: false,
    transform: { target: 'node22.14' },
    external: id => /^zod(\/|$)/.test(id) || id.startsWith('node:'),
    plugins: [entryPlugin(entries), fewerGrammars()],
    onLog: refuseTrouble,
  })
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared-[name].js',
    minify: smallest,
  })
  await build.close()
  const modules = output.flatMap(file => (file.type === 'chunk' ? file.moduleIds : []))
  return [...new Set(modules.flatMap(packageFolder))].sort()
}

/** The folder of the package that a module belongs to. */
export function packageFolder(module: string): readonly string[] {
  const [found] = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(module) ?? []
  return found === undefined ? [] : [found]
}

/** Removes grammars from the list of the common ones. */
function fewerGrammars(): Plugin {
  return {
    name: 'fewer-grammars',
    transform(code, id) {
      if (!/[\\/]lowlight[\\/]lib[\\/]common\.js$/.test(id)) return null
      return leftOut.reduce((rest, name) => {
        const shorter = rest.replace(new RegExp(`^import ${name} from .*\n|^  ${name},?\n`, 'gm'), '')
        if (shorter.length === rest.length) throw new Error(`lowlight has no grammar ${name}`)
        return shorter
      }, code)
    },
  }
}

const prefix = '\0vendor:'

function entryPlugin(entries: readonly (readonly [string, string, readonly string[]])[]): Plugin {
  return {
    name: 'vendor-entries',
    resolveId(id, importer) {
      if (id.startsWith(prefix)) return id
      // The packages are resolved as if this package imported them.
      return importer?.startsWith(prefix)
        ? this.resolve(id, join(root, 'package.json'), { skipSelf: true })
        : null
    },
    load(id) {
      const found = entries.find(([file]) => id === `${prefix}${file}`)
      return found === undefined ? null : `export { ${found[2].join(', ')} } from '${found[1]}'`
    },
  }
}
