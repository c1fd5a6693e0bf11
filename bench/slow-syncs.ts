import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The environment of a program whose disk takes 100 ms longer for each sync. Null without a C compiler, and
 *  on systems that load no libraries by LD_PRELOAD. */
export function slowSyncs(place: string): { readonly LD_PRELOAD: string } | null {
  if (process.platform !== 'linux') return null
  const library = join(place, 'slow-sync.so')
  const source = join(import.meta.dirname, 'slow-sync.c')
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'])
  return status === 0 ? { LD_PRELOAD: library } : null
}
