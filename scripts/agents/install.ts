import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../check/command.ts'
import type { RealAgent } from './real-agent.ts'

/** Installs an agent into a separate folder, unless the same packages are there already. Returns the folder
 *  of its commands. */
export async function install({ name, packages }: RealAgent, dir: string): Promise<string> {
  const place = join(dir, name)
  const stamp = join(place, 'installed')
  const wanted = packages.join(' ')
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    rmSync(place, { recursive: true, force: true })
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'package.json'), '{ "private": true }')
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], { cwd: place })
    writeFileSync(stamp, wanted)
  }
  return join(place, 'node_modules/.bin')
}
