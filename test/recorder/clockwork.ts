import { thisHolder } from '../../src/system/holder.ts'
import type { RecorderSource } from '../../src/system/source.ts'

/** A recorder source whose time passes only on call. */
export interface Clockwork extends RecorderSource {
  /** Advances the time: runs the timers one after the other, and lets the promises between them settle. */
  advance(ms: number): Promise<void>
  /** The timers that have not run, and how many of them keep the process alive. */
  readonly timers: { readonly all: number; readonly lively: number }
}

interface Timer {
  readonly at: number
  readonly run: () => void
  readonly idle: boolean
}

export function clockwork(start = Date.UTC(2026, 0, 1)): Clockwork {
  let now = start
  let made = 0
  const timers = new Set<Timer>()
  return {
    now: () => now,
    uuid: () => `uuid-${made++}`,
    holder: thisHolder,
    isDead: () => false,
    // Leases decide, as for a process of another host.
    isVisible: () => false,
    elapsed: () => now,
    after(ms, run, { idle = false } = {}) {
      const timer = { at: now + Math.ceil(ms), run, idle }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const until = now + ms
      await settle()
      for (;;) {
        const [next] = [...timers].filter(timer => timer.at <= until).sort((a, b) => a.at - b.at)
        if (!next) break
        timers.delete(next)
        now = next.at
        next.run()
        await settle()
      }
      now = until
    },
    get timers() {
      return { all: timers.size, lively: [...timers].filter(timer => !timer.idle).length }
    },
  }
}

/** Lets all pending promises settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
}
