import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The environment of a program with a slow disk. */
export interface SlowSyncs {
  readonly LD_PRELOAD: string
}

/** Makes the library of `slow-sync.c` in a folder. Programs with this environment wait in each sync:
 *  `SLOW_SYNC_MS` milliseconds, and as long as the file `SLOW_SYNC_GATE` exists. Null without a C compiler,
 *  and on systems that have no LD_PRELOAD. */
export function makeSlowSyncs(folder: string): SlowSyncs | null {
  if (process.platform !== 'linux') return null
  const library = join(folder, 'slow-sync.so')
  const source = join(import.meta.dirname, 'slow-sync.c')
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'])
  return status === 0 ? { LD_PRELOAD: library } : null
}
