/** A way to stop what runs, and the signal that says so. */
export interface Stop {
  readonly signal: AbortSignal
  now(): void
}

/** The signal is made when somebody asks for it: a command that only looks has no use for it. */
export function makeStop(): Stop {
  let controller: AbortController | undefined
  let isStopped = false
  const abort = () => controller?.abort(new DOMException('interrupted', 'AbortError'))
  return {
    get signal() {
      if (!controller) {
        controller = new AbortController()
        if (isStopped) abort()
      }
      return controller.signal
    },
    now() {
      isStopped = true
      abort()
    },
  }
}
