import type { RecorderSource } from '../../system/source.ts'

/** How long after the end of a turn its last words may still be on their way. */
const lateMs = 15

/** Notices when an agent has fallen silent. */
export interface Quiet {
  heard(): void
  /** Resolves when nothing has been heard for a moment. */
  silence(): Promise<void>
}

export function quietAfter(source: Pick<RecorderSource, 'now' | 'after'>): Quiet {
  let last = 0
  return {
    heard() {
      last = source.now()
    },
    silence: () =>
      new Promise(resolve => {
        const wait = (ms: number) => {
          source.after(ms, () => {
            const silent = source.now() - last
            if (silent >= lateMs || silent < 0) resolve()
            else wait(lateMs - silent)
          })
        }
        wait(lateMs)
      }),
  }
}
