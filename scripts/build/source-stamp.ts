import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Everything that a build reads, relative to the root. */
const inputs = ['src', 'scripts/build', 'scripts/build.ts', 'tsconfig.json', 'tsconfig.build.json']
/** The same; `npm install` writes them again without a change. */
const manifests = ['package.json', 'package-lock.json']

/** Outside of `dist`, so that it is not packed. */
const stampFile = 'node_modules/.cache/skein-built-from'

/** Whether `dist` was built from the files as they are now, by the Node version that runs. */
export function isBuilt(root: string): boolean {
  const stamp = join(root, stampFile)
  if (!existsSync(join(root, 'dist/cli/skein.cjs')) || !existsSync(stamp)) return false
  return readFileSync(stamp, 'utf8') === stampOf(root)
}

/** Called before a build: an interrupted one does not count. */
export function forgetBuild(root: string): void {
  rmSync(join(root, stampFile), { force: true })
}

/** Called after a build. `stamp` is that of the sources before it. */
export function rememberBuild(root: string, stamp: string): void {
  mkdirSync(dirname(join(root, stampFile)), { recursive: true })
  writeFileSync(join(root, stampFile), stamp)
}

/** Changes with every name, size and time of the inputs, and with the contents of the manifests. */
export function stampOf(root: string): string {
  const hash = createHash('sha256').update(process.version)
  for (const path of inputs.flatMap(one => filesIn(root, one))) {
    const { size, mtimeMs } = statSync(join(root, path))
    hash.update(`\n${path} ${size} ${mtimeMs}`)
  }
  for (const path of manifests) hash.update(`\n${path}\n`).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}

function filesIn(root: string, path: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .map(name => join(path, name))
    .filter(name => statSync(join(root, name)).isFile())
    .sort()
}
