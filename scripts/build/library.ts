import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { isOurs, refuseTrouble, small, smallest } from './bundle.ts'
import { breakLines } from './line-breaks.ts'
import { markedLater } from './marked-later.ts'
import { builtinsLater, bundledDriver, driverNotice, flatStatements, hiddenRequire } from './plugins.ts'
import { unicodePatternsLater } from './unicode-patterns.ts'
import { vendorFiles } from './vendor.ts'

const root = join(import.meta.dirname, '../..')

/** The methods of a store that are loaded on demand (`store/methods-on-demand.ts`), and what they use. */
const late = [
  {
    name: 'tasks',
    test: /[\\/]stores[\\/](programs[\\/](records[\\/])?tasks\b|check[\\/]task\.|engine[\\/]row-to-task|store[\\/]keep-tasks)/,
  },
  {
    name: 'index-search',
    test: /[\\/]stores[\\/](programs[\\/]search[\\/](claim-indexing|search-index)|store[\\/](index-search|pace)\.)|[\\/]core[\\/]search[\\/]texts\./,
  },
  {
    name: 'turn-methods',
    test: /[\\/]stores[\\/](programs[\\/](approvals|branches|events|path-section|structure|summaries|turns)\.|store[\\/]turn-methods)|[\\/]core[\\/](conversation|runs)\./,
  },
  {
    name: 'manage-methods',
    test: /[\\/]stores[\\/](programs[\\/](delete|forget-words|list|measure|overview|search[\\/]|sweep|tokens|trash)|store[\\/](in-pieces|manage-methods|measure-store|read-overviews|search-))|[\\/]core[\\/]search[\\/](query|rank)\./,
  },
  { name: 'follow', test: /[\\/]stores[\\/](programs[\\/]follow\.|store[\\/](follow-|task-watch))/ },
]

const isLate = (id: string) => late.some(({ test }) => test.test(id))

/** Modules that are loaded together are one file: a file costs more than the code in it. */
const groups = [
  {
    name: 'core',
    test: (id: string) =>
      /[\\/]src[\\/](core|system)[\\/]|[\\/]check[\\/]target\.ts$|^\0later:/.test(id) && !isLate(id),
  },
  { name: 'context', test: /[\\/]src[\\/]context[\\/]/ },
  { name: 'recorder', test: /[\\/]src[\\/]recorder[\\/]/ },
  {
    name: 'ai-sdk-values',
    test: /[\\/]src[\\/]models[\\/](collect|language-model|plain-json|file-block|metadata|provider-part|tool-result-block)\.ts$/,
  },
  { name: 'agent', test: /[\\/]src[\\/]agent[\\/](?!index)/ },
  {
    name: 'stores',
    test: (id: string) => /[\\/]src[\\/]stores[\\/](engine|check|programs)[\\/]/.test(id) && !isLate(id),
  },
  ...late,
  { name: 'sqlite', test: /[\\/]src[\\/]stores[\\/]sqlite[\\/](?!index|engine)|better-sqlite3/ },
].map((group, i, { length }) => ({
  ...group,
  priority: length - i,
  // Leaves out what is loaded on demand.
  ...(!late.some(({ name }) => name === group.name) && { tags: ['$initial' as const] }),
}))

/** A file of the library, and the modules in it. */
export interface LibraryFile {
  readonly name: string
  readonly isEntry: boolean
  readonly modules: readonly string[]
}

/** Bundles the entry points of the package into a folder, and returns the files. */
export async function bundleLibrary(folder: string): Promise<readonly LibraryFile[]> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string>>
  }
  const names = Object.values(exports).flatMap(path => /^\.\/dist\/(.+)\.js$/.exec(path)?.[1] ?? [])
  const replacing = [builtinsLater('esm'), bundledDriver(root, { ownError: true }), vendorFiles()]
  const library = await rolldown({
    input: Object.fromEntries(names.map(name => [name, join(root, `src/${name}.ts`)])),
    platform: 'node',
    // Its paths are for types only.
    tsconfig: false,
    transform: { target: 'node22.14' },
    external: id => !isOurs(id) && !replacing.some(plugin => plugin.isReplaced(id)),
    plugins: [...replacing, hiddenRequire(), flatStatements(), unicodePatternsLater(), markedLater(root)],
    onLog: refuseTrouble,
  })
  const { output } = await library.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    minify: small,
    banner: ({ name }) => (name === 'sqlite' ? driverNotice : ''),
    codeSplitting: { groups },
  })
  await library.close()
  inlineHelpers(join(folder, 'shared'))
  for (const name of withShortNames) shortenNames(join(folder, `${name}.js`))
  for (const { fileName, type } of output) {
    const path = join(folder, fileName)
    if (type === 'chunk') writeFileSync(path, breakLines(readFileSync(path, 'utf8')))
  }
  return output.flatMap(file =>
    file.type === 'chunk' ? [{ name: file.fileName, isEntry: file.isEntry, modules: file.moduleIds }] : [],
  )
}

/** Files with short names of functions, because they are large. The assertions of the contract and the names
 *  of its cases say where a driver fails; the service logs failures with the code of the error; checks and
 *  records name the field. */
const withShortNames = [
  ...['testing/index', 'server/index', 'acp/index'],
  ...['shared/verify', 'shared/read-records', 'shared/write-records', 'shared/native-file', 'shared/follow'],
]

function shortenNames(path: string): void {
  const { code, errors } = minifySync(path, readFileSync(path, 'utf8'), { ...smallest, module: true })
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
  writeFileSync(path, code)
}

/** Copies the helpers of the bundler into the SQLite driver. Files that are loaded on demand use them too, so
 *  they are a file of their own, and every file costs time at the start. */
function inlineHelpers(shared: string): void {
  const path = join(shared, 'sqlite.js')
  const code = readFileSync(path, 'utf8')
  const [statement, names] =
    /\bimport\s*\{([^}]*)\}\s*from\s*["'`]\.\/rolldown-runtime\.js["'`];?/.exec(code) ?? []
  if (statement === undefined) return
  const helpers = readFileSync(join(shared, 'rolldown-runtime.js'), 'utf8')
  const [exported, members] = /\bexport\s*\{([^}]*)\};?/.exec(helpers) ?? []
  if (exported === undefined) throw new Error('the helpers of the bundler have another form')
  // `a as b` in an import is `a: b` in a pattern; in an export it is `b: a`.
  const taken = names!.replace(/(\w+)\s+as\s+(\w+)/g, '$1: $2')
  const given = members!.replace(/(\w+)\s+as\s+(\w+)/g, '$2: $1')
  const body = helpers.replace(/^\/\/.*$/gm, '').replace(exported, '')
  const inlined = `const {${taken}} = /* @__PURE__ */ (() => { ${body.trim()}\nreturn {${given}} })();`
  writeFileSync(
    path,
    code.replace(statement, () => inlined),
  )
}
