import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type RolldownOptions, rolldown } from 'rolldown'
import { isOurs, refuseTrouble, smallest } from '../scripts/build/bundle.ts'
import { builtinsLater, bundledDriver, flatStatements } from '../scripts/build/plugins.ts'
import { unicodePatternsLater } from '../scripts/build/unicode-patterns.ts'

const root = join(import.meta.dirname, '..')

const shared: RolldownOptions = {
  platform: 'node',
  tsconfig: false,
  transform: { target: 'node22.14' },
  onLog: refuseTrouble,
}

/** Bundles the processes of the suite `cold` into a folder: `process.mjs`, and `main.cjs` as the command is
 *  bundled. In `node_modules`, so that they find the packages. */
export async function bundleColdProcesses(): Promise<{ folder: string } & Disposable> {
  const folder = mkdtempSync(join(root, 'node_modules', '.skein-bench-'))
  const entry = await rolldown({
    ...shared,
    input: { process: join(root, 'bench/cold-process.ts') },
    external: id => !isOurs(id),
  })
  await entry.write({ dir: folder, entryFileNames: '[name].mjs', codeSplitting: false })
  await entry.close()

  const plugins = [builtinsLater('cjs'), bundledDriver(root, { ownError: false })]
  const main = await rolldown({
    ...shared,
    input: { main: join(root, 'bench/cold-ours.ts') },
    external: id => !isOurs(id) && !plugins.some(plugin => plugin.isReplaced(id)),
    plugins: [...plugins, flatStatements(), unicodePatternsLater()],
  })
  await main.write({
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    minify: smallest,
  })
  await main.close()
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
