import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './command.ts'
import { checkFindings } from './findings.ts'

/** Versions of what an application may have besides the package. */
interface Versions {
  readonly [name: string]: string
}

const bundlers: Versions = { esbuild: '0.28.2', rolldown: '1.3.1', vite: '8.3.8', webpack: '5.112.2' }

/** Installs other versions of zod and some bundlers next to the packed file, compiles and runs a program with
 *  tools, bundles one without the optional peers, and repeats what once failed. Returns how many things were
 *  tried. */
export async function checkInProject(project: string): Promise<number> {
  cpSync(join(import.meta.dirname, 'project'), project, { recursive: true })
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Versions
  }
  const ours = ['zod3', 'zod40', 'zod41', 'typescript', '@types/node']
  const wanted = { ...Object.fromEntries(ours.map(name => [name, devDependencies[name]])), ...bundlers }
  const named = Object.entries(wanted).map(([name, version]) => `${name}@${version}`)
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...flags, ...named, 'zod@4'], { cwd: project })
  const tried = await Promise.all([checkTools(project), checkBundles(project)])
  return tried[0] + tried[1] + (await checkFindings(project))
}

async function checkTools(project: string): Promise<number> {
  const options = { module: 'nodenext', target: 'esnext', strict: true, noEmit: true, skipLibCheck: true }
  const config = { compilerOptions: { ...options, types: ['node'] }, files: ['tools.ts'] }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config))
  await run(join(project, 'node_modules/.bin/tsc'), ['-p', project], { cwd: project })
  const printed = await run(process.execPath, ['tools.ts'], { cwd: project })
  const names = ['newest', 'zod41', 'zod40', 'zod3', 'json']
  for (const name of names)
    if (!printed.includes(`${name} ADA 2.00`)) throw new Error(`tools.ts printed: ${printed}`)
  return names.length
}

async function checkBundles(project: string): Promise<number> {
  const bin = (name: string) => join(project, 'node_modules/.bin', name)
  const out = (name: string) => join(project, 'out', name)
  // The addon of SQLite is loaded by a path, which a bundle does not move.
  const banner =
    'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'
  const esbuild = ['--bundle', '--platform=node', '--format=esm', `--banner:js=${banner}`]
  const vite = { build: { ssr: 'bundled.mjs', outDir: 'out/vite' }, ssr: { noExternal: true } }
  writeFileSync(join(project, 'vite.config.mjs'), `export default ${JSON.stringify(vite)}\n`)
  await Promise.all([
    run(bin('esbuild'), ['bundled.mjs', ...esbuild, `--outfile=${out('esbuild.mjs')}`], { cwd: project }),
    run(bin('rolldown'), ['bundled.mjs', '-p', 'node', '-d', out('rolldown')], { cwd: project }),
    run(bin('vite'), ['build'], { cwd: project }),
    run(process.execPath, ['webpack.mjs'], { cwd: project }),
  ])
  const files = ['esbuild.mjs', 'rolldown/bundled.js', 'vite/bundled.js', 'webpack.mjs']
  for (const file of files) {
    const printed = await run(process.execPath, [out(file)], { cwd: project })
    if (!printed.includes('Nice to meet you, Ada. true') || !printed.includes('gpt-tokenizer'))
      throw new Error(`${file} printed: ${printed}`)
  }
  return files.length
}
