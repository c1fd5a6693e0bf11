import { hash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OutputOptions, type RolldownLog, rolldown } from 'rolldown'
import { importingFile } from '../../src/cli/start/run-bundle.ts'
import { importingCode, importsByNode } from './imports-by-node.ts'
import { markedLater } from './marked-later.ts'
import { builtinsLater, bundledDriver, driverNotice, flatStatements } from './plugins.ts'
import { unicodePatternsLater } from './unicode-patterns.ts'
import { vendorFiles } from './vendor.ts'

const root = join(import.meta.dirname, '../..')

/** Without comments and white space, and with short local names. Names of functions and classes are kept:
 *  stacks and errors show them. */
export const small = {
  compress: { keepNames: { function: true, class: true } },
  mangle: { keepNames: true },
  codegen: { removeWhitespace: true, legalComments: 'inline' },
} as const satisfies OutputOptions['minify']

/** The same with short names of functions, for files whose stacks only we read. */
export const smallest = {
  ...small,
  compress: { keepNames: { function: false, class: true } },
  mangle: { keepNames: { function: false, class: true } },
} as const satisfies OutputOptions['minify']

/** The modules of `ls`, `show` and `search` are in one file; the others are in files that are loaded on
 *  demand. */
const atOnce =
  /[\\/]src[\\/](cli[\\/]main|cli[\\/]read[\\/](ls|show|search)|stores[\\/](open|sqlite[\\/]index|store[\\/](turn-methods|manage-methods|keep-tasks|follow-hub|follow-tasks|index-search)))\.ts$/

/** Bundles the command into a folder: `skein.cjs`, the executable, and `main.cjs` with its other files.
 *  CommonJS, because it starts faster than ES modules and can be compiled in advance. Packages stay external.
 */
export async function bundleCommand(folder: string): Promise<void> {
  const output: OutputOptions = {
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    sourcemap: true,
    minify: smallest,
  }
  const plugins = [builtinsLater('cjs'), bundledDriver(root, { ownError: false }), vendorFiles()]
  const main = await rolldown({
    input: {
      main: join(root, 'src/cli/main.ts'),
      // Loaded by a thread, by its name.
      'store-thread': join(root, 'src/cli/acp/store-thread.ts'),
    },
    platform: 'node',
    // Its paths are for types only.
    tsconfig: false,
    transform: { target: 'node22.14' },
    // Without this, the entry would be a separate file that only forwards.
    preserveEntrySignatures: 'allow-extension',
    external: id => !isOurs(id) && !plugins.some(plugin => plugin.isReplaced(id)),
    plugins: [...plugins, flatStatements(), unicodePatternsLater(), markedLater(root), importsByNode()],
    onLog: refuseTrouble,
  })
  await main.write({
    ...output,
    banner: ({ fileName }) => (fileName === 'main.cjs' ? driverNotice : ''),
    codeSplitting: { groups: [{ name: 'main', test: atOnce }] },
  })
  await main.close()
  inlineRuntime(folder)
  writeAscii(folder)
  writeFileSync(join(folder, importingFile), importingCode)

  const start = join(root, 'src/cli/start/main.ts')
  const entry = await rolldown({
    input: { skein: join(root, 'src/cli/bin.ts') },
    platform: 'node',
    // Its paths are for types only.
    tsconfig: false,
    transform: { target: 'node22.14', define: { bundleHash: JSON.stringify(bundleHashOf(folder)) } },
    external: id => !isOurs(id),
    plugins: [{ name: 'start', resolveId: id => (id === './main.ts' ? start : null) }],
    onLog: refuseTrouble,
  })
  await entry.write({ ...output, codeSplitting: false })
  await entry.close()
}

/** Writes `main.cjs` in ASCII, which V8 reads in half the time. The file that belongs to the source map is
 *  kept for `--debug`. */
function writeAscii(folder: string): void {
  const path = join(folder, 'main.cjs')
  const code = readFileSync(path, 'utf8')
  renameSync(path, join(folder, 'main.readable.cjs'))
  const ascii = code
    .replace(/^\/\/# sourceMappingURL=.*$/m, '')
    .replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  writeFileSync(path, ascii)
}

/** The beginning of the hash of `main.cjs`. V8 compares only the length of a source with its code. */
export function bundleHashOf(folder: string): string {
  return hash('sha256', readFileSync(join(folder, 'main.cjs'))).slice(0, 16)
}

/** Copies the helpers of the bundler into `main.cjs`, in one line, so that the source map stays right. They
 *  are a file of their own if a file that does not need `main.cjs` uses them, and every file costs time at
 *  the start. */
function inlineRuntime(folder: string): void {
  const path = join(folder, 'main.cjs')
  const code = readFileSync(path, 'utf8')
  const [statement, file] = /require\(["'`]\.\/(rolldown-runtime-[^"'`]+)["'`]\)/.exec(code) ?? []
  if (statement === undefined || file === undefined) return
  const helpers = readFileSync(join(folder, file), 'utf8')
    .replace(/^\/\/.*$/gm, '')
    .replaceAll(/\s*\n\s*/g, ' ')
  const inlined = `(() => { const exports = {}; ${helpers} return exports; })()`
  writeFileSync(
    path,
    code.replace(statement, () => inlined),
  )
}

/** A package that the bundles contain, because `show` needs it at once. Its licence is in
 *  `dist/licenses.txt`. */
export const bundled = ['marked']

/** One of our files; a runtime helper that the bundler adds for syntax that Node 22 does not know: `using`;
 *  or a file of a package that the bundles contain. */
export function isOurs(id: string): boolean {
  return /^[./\\\0]|^[A-Z]:|^@oxc-project\/runtime\//.test(id) || bundled.includes(id.split('/')[0]!)
}

/** A command that a chat also offers is both in the chat's files and loaded separately: intended. A slow
 *  build says which plugins took long. */
const harmless: readonly (string | undefined)[] = ['INEFFECTIVE_DYNAMIC_IMPORT', 'PLUGIN_TIMINGS']

/** Turns every warning of the bundler into an error. */
export function refuseTrouble(level: string, log: RolldownLog): void {
  if (level === 'info' || level === 'debug' || harmless.includes(log.code)) return
  throw new Error(`${log.code ?? level}: ${log.message}`)
}
