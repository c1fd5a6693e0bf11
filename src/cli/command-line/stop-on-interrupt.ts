import type { CommandContext } from './command-context.ts'

/** Until it is disposed of, Ctrl+C ends the work in order, as SIGTERM does: what was begun is cleaned up. */
export function stopOnInterrupt(
  context: Pick<CommandContext, 'signal'>,
): { readonly signal: AbortSignal } & Disposable {
  const pressed = new AbortController()
  const stop = () => pressed.abort(new DOMException('interrupted', 'AbortError'))
  process.once('SIGINT', stop)
  return {
    signal: AbortSignal.any([context.signal, pressed.signal]),
    [Symbol.dispose]: () => {
      process.removeListener('SIGINT', stop)
    },
  }
}
