import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const folders = {
  HOME: 'home',
  XDG_CONFIG_HOME: 'home/.config',
  XDG_DATA_HOME: 'home/.local/share',
  XDG_STATE_HOME: 'home/.local/state',
  XDG_CACHE_HOME: 'home/.cache',
  XDG_RUNTIME_DIR: 'run',
  TMPDIR: 'tmp',
} as const

/**
 * An environment that is independent of the machine's home, time zone, language, database and keys. Creates
 * its folders below `place`; all other variables of `given` are kept.
 */
export function strangeEnvironment(place: string, given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(given).filter(
    ([name]) => !/^(PG|LC_|LANGUAGE$|XDG_|SKEIN_)|_API_KEY$/.test(name),
  )
  const made = Object.entries(folders).map(([name, folder]) => [name, join(place, folder)] as const)
  for (const [, path] of made) mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(join(place, folders.TMPDIR), 0o1777) // as /tmp: some tests start a child under another uid
  return { ...Object.fromEntries([...kept, ...made]), TZ: 'Asia/Kathmandu', LANG: 'C' }
}
