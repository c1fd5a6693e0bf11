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
  const library = makePreloaded(folder, 'slow-sync')
  return library === null ? null : { LD_PRELOAD: library }
}

/** Makes the library of `record-disk.c` in a folder, and returns its path. Null as above. */
export function makeDiskRecorder(folder: string): string | null {
  return makePreloaded(folder, 'record-disk')
}

function makePreloaded(folder: string, name: string): string | null {
  if (process.platform !== 'linux') return null
  const library = join(folder, `${name}.so`)
  const source = join(import.meta.dirname, `${name}.c`)
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'])
  return status === 0 ? library : null
}
