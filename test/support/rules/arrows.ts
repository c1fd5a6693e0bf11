import { importsOf, type Rule, resolve, type SourceFile } from './source.ts'

const surfaces = ['adapters', 'acp', 'channels', 'client', 'dispatch', 'mcp', 'server']

/** A folder may import from the layers above its own in this list, and not from its neighbours in the same
 *  layer. */
const layers = [
  ['core'],
  ['system', 'render'],
  ['api', 'context', 'stores', 'models', 'formats', 'config'],
  ['recorder'],
  ['agent'],
  surfaces,
  ['cli'],
] as const

/** Folders that may import less than their layer allows, with all that they may import. */
const narrow: readonly (readonly [folder: string, allowed: readonly string[]])[] = [
  ['src/api/', ['core']],
  ['src/client/', ['core', 'api']],
  ['src/formats/', ['core', 'render']],
  ['src/render/', ['core']],
  ['src/recorder/', ['core', 'system']],
  ['src/acp/wire/', ['core', 'system']],
]

/** `cli` uses a store through its port. These files open one, or do maintenance below the port. */
const storeEntryPoints = [
  /^src\/stores\/(open|check\/target)\.ts$/,
  /^src\/stores\/(sqlite|postgres)\/index\.ts$/,
  /^src\/stores\/sqlite\/(backup|migrate|recover\/recover-file)\.ts$/,
]

/** The folders of `src/`. `testing` is for tests and imports `core` only. `web` is browser code and uses HTTP
 *  only. */
export const folders: readonly string[] = [...layers.flat(), 'testing', 'web']

/** Imports follow the arrows between the folders of `src/`. */
export const arrows: Rule = files => files.filter(isOurs).flatMap(faultsOf)

function faultsOf(file: SourceFile): readonly string[] {
  return importsOf(file).flatMap(({ from }) => {
    if (from === null) return [`${file.path}: an import has to name its file`]
    if (/^skein(\/|$)/.test(from)) return [`${file.path}: imports the package that it is part of (${from})`]
    const target = resolve(file, from)
    const reason = target === null ? null : objection(file.path, target)
    return reason === null ? [] : [`${file.path}: may not import ${target}: ${reason}`]
  })
}

/** Why `from` may not import `to`, or null if it may. */
function objection(from: string, to: string): string | null {
  if (!to.startsWith('src/')) return 'it is not part of the product'
  const [here, there] = [folderOf(from), folderOf(to)]
  if (here === 'stores' && there === 'stores') return betweenStores(from, to)
  if (here === there) return null
  if (there === 'testing') return 'only tests import skein/testing'
  if (here === 'testing') return there === 'core' ? null : `testing does not know ${there}`
  if (there === 'index.ts') return 'the public API is for users of the package'
  if (here === 'web' || there === 'web') return 'the viewer uses HTTP only'
  if (there === 'stores') return intoStores(here, to)
  if (here === 'index.ts') return there === 'cli' ? 'the command is not part of the public API' : null
  for (const [folder, allowed] of narrow) {
    if (from.startsWith(folder) && !allowed.includes(there))
      return `${folder.slice(4, -1)} does not know ${there}`
  }
  return layerIn(layers, there) < layerIn(layers, here) ? null : `${here} does not know ${there}`
}

function intoStores(here: string, to: string): string | null {
  if (here === 'index.ts') return null
  if (here !== 'cli') return 'only cli chooses a driver'
  return storeEntryPoints.some(entry => entry.test(to)) ? null : 'cli uses a store through its port'
}

/** The layers inside `stores/`, lowest first. The files directly in `stores/` are the top. */
const storeLayers = [
  ['engine', 'check'],
  ['programs'],
  ['store'],
  ['sqlite', 'postgres'],
  ['stores'],
] as const

/** Why a file of `stores/` may not import another one, or null if it may. */
function betweenStores(from: string, to: string): string | null {
  const [here, there] = [storeFolderOf(from), storeFolderOf(to)]
  if (here === there) return null
  return layerIn(storeLayers, there) < layerIn(storeLayers, here) ? null : `${here} does not know ${there}`
}

function storeFolderOf(path: string): string {
  return path.split('/').slice(2, -1)[0] ?? 'stores'
}

function folderOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function layerIn(order: readonly (readonly string[])[], folder: string): number {
  return order.findIndex(layer => layer.includes(folder))
}

function isOurs(file: SourceFile): boolean {
  return file.path.startsWith('src/')
}
