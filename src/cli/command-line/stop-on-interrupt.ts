import type { CommandContext } from './command-context.ts'
import { exitSoon } from './exit-soon.ts'

/** Until disposed, Ctrl+C aborts the signal, as SIGTERM does, so that unfinished work is cleaned up. With
 *  `exits`, the process also ends soon after it, even if the work does not stop. */
export function stopOnInterrupt(
  context: Pick<CommandContext, 'signal'>,
  { exits = false }: { readonly exits?: boolean } = {},
): { readonly signal: AbortSignal } & Disposable {
  const pressed = new AbortController()
  const stop = () => {
    pressed.abort(new DOMException('interrupted', 'AbortError'))
    if (exits) exitSoon()
  }
  process.once('SIGINT', stop)
  return {
    signal: AbortSignal.any([context.signal, pressed.signal]),
    [Symbol.dispose]: () => {
      process.removeListener('SIGINT', stop)
    },
  }
}
