import { setTimeout as wait } from 'node:timers/promises'

/** Waits for `ms`. Throws the signal's reason as soon as the signal is aborted. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

export const sleep: Sleep = async (ms, signal) => {
  try {
    await wait(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
