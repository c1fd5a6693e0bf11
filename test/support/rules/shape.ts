import { folders } from './arrows.ts'
import { importsOf, type Rule, visit } from './source.ts'

const lineLimit = 400

/** One file, one idea: no file has more than 400 lines. */
export const shortFiles: Rule = files =>
  files.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    return lines > lineLimit ? [`${path}: has ${lines} lines, ${lineLimit} are allowed`] : []
  })

/** No default exports, no `export *`. */
export const namedExports: Rule = files =>
  files.flatMap(file => {
    const faults: string[] = []
    visit(file, node => {
      if (node.type === 'ExportDefaultDeclaration') faults.push(`${file.path}: has a default export`)
      if (node.type === 'ExportAllDeclaration') faults.push(`${file.path}: has an "export *"`)
    })
    return faults
  })

/** A file is named after its main export, not `utils`, `helpers` or the like. */
export const tellingNames: Rule = files =>
  files.flatMap(({ path }) => {
    const collective = path.match(/(?:^|[/.-])(utils?|helpers?|managers?|common|misc)(?=[/.-])/i)
    return collective === null ? [] : [`${path}: is named "${collective[1]}"`]
  })

/** `src/` has the folders of the layout and one file: the public API. */
export const layout: Rule = files =>
  files.flatMap(({ path }) => {
    const [top, folder, ...rest] = path.split('/')
    const known = rest.length === 0 ? folder === 'index.ts' : folders.includes(folder ?? '')
    return top === 'src' && !known ? [`${path}: is not in the layout of src/`] : []
  })

/** These open a store and hand it to commands. */
const storeOpeners = [
  'src/cli/main.ts',
  'src/cli/store/open-configured-store.ts',
  'src/cli/store/with-store.ts',
]

/** A consumer names the narrowest port that it needs, and not the whole `Store`. Drivers implement all of it,
 *  and the contract tests all of it. */
export const narrowPorts: Rule = files =>
  files
    .filter(({ path }) => path.startsWith('src/') && !/^src\/(core|stores|testing|index\.ts)/.test(path))
    .filter(({ path }) => !storeOpeners.includes(path))
    .filter(file =>
      importsOf(file).some(({ from, names }) => from?.endsWith('core/ports.ts') && names.includes('Store')),
    )
    .map(({ path }) => `${path}: uses the whole Store instead of a port`)
