import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../skein.ts'

/** Writes the user's own skein.yaml. */
export function ownFile(here: Pick<Home, 'env'>, content: string | object): void {
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skein.yaml'), typeof content === 'string' ? content : JSON.stringify(content))
}
