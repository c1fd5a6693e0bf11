import type { CommandContext } from '../../command-line/command-context.ts'
import type { Output } from '../../output/output.ts'
import { type Key, keyReader } from './key-reader.ts'

/** A key, a window of another size, the way back from a shell, or nothing more to come. */
export type KeyStroke =
  | Key
  | { readonly type: 'resize' }
  | { readonly type: 'woken' }
  | { readonly type: 'closed' }

/** The keyboard, in raw mode for as long as it is open. What is typed while nobody asks waits. */
export interface Keyboard {
  next(): Promise<KeyStroke>
  /** The first key from now on: what was typed before the question cannot have been meant for it, and goes on waiting. */
  nextFresh(): Promise<KeyStroke>
  /** Calls for every Ctrl+C until the returned function is called; all other keys wait for the next prompt. */
  onInterrupt(listener: () => void): () => void
  /** Gives the terminal to something else for a while: to a pager, say. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** Gives the terminal back. */
  close(): void
}

/** How long an Escape waits for the rest of a sequence. */
const escapeMs = 50

/** Opens the keyboard. `paper` is the terminal that shows what is typed. */
export function openKeyboard(context: CommandContext, output: Output): Keyboard {
  const { stdin } = context
  const reader = keyReader()
  const strokes: KeyStroke[] = []
  let waiting: ((stroke: KeyStroke) => void) | null = null
  let interrupted: (() => void) | null = null
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function push(stroke: KeyStroke): void {
    const name = stroke.type === 'key' ? stroke.name : null
    if (interrupted && name === 'interrupt') interrupted()
    else if (name === 'suspend') suspend()
    else if (waiting) {
      const take = waiting
      waiting = null
      take(stroke)
    } else if (stroke.type !== 'resize' && stroke.type !== 'woken') strokes.push(stroke)
  }

  function onData(chunk: string | Buffer): void {
    clearTimeout(timer)
    for (const key of reader.read(String(chunk))) push(key)
    if (reader.waits) {
      timer = setTimeout(() => {
        for (const key of reader.flush()) push(key)
      }, escapeMs)
    }
  }

  const onResize = () => push({ type: 'resize' })
  const onEnd = () => push({ type: 'closed' })

  function raw(on: boolean): void {
    stdin.setRawMode?.(on)
    output.write(on ? '\x1b[?2004h' : '\x1b[?2004l')
  }

  /** As Ctrl+Z does everywhere: the shell takes over, and on return the prompt is drawn anew. Where there is no shell
   *  that could wake it, the process does not fall asleep: then it goes on after a moment. */
  function suspend(): void {
    raw(false)
    output.write('\n')
    const wake = () => {
      clearTimeout(moment)
      process.removeListener('SIGCONT', wake)
      if (closed) return
      raw(true)
      push({ type: 'woken' })
    }
    const moment = setTimeout(wake, 200)
    process.once('SIGCONT', wake)
    process.kill(process.pid, 'SIGTSTP')
  }

  function attach(): void {
    stdin.on('data', onData)
    stdin.on('end', onEnd)
    raw(true)
    stdin.resume()
  }

  function detach(): void {
    clearTimeout(timer)
    stdin.off('data', onData)
    stdin.off('end', onEnd)
    raw(false)
    stdin.pause()
  }

  // Whatever ends the process, the terminal is given back as it was.
  const onExit = () => raw(false)
  process.once('exit', onExit)
  stdin.setEncoding('utf8')
  output.stream.on('resize', onResize)
  context.signal.addEventListener('abort', onEnd)
  attach()

  function nextFresh(): Promise<KeyStroke> {
    if (closed || context.signal.aborted) return Promise.resolve({ type: 'closed' })
    return new Promise(resolve => {
      waiting = resolve
    })
  }

  return {
    next() {
      const stroke = strokes.shift()
      return stroke ? Promise.resolve(stroke) : nextFresh()
    },
    nextFresh,
    onInterrupt(listener) {
      interrupted = listener
      // It may have been pressed a moment too early: then what was typed before it is taken back with it.
      const early = strokes.findIndex(stroke => stroke.type === 'key' && stroke.name === 'interrupt')
      if (early !== -1) {
        strokes.splice(0, early + 1)
        queueMicrotask(() => interrupted?.())
      }
      return () => {
        interrupted = null
      }
    },
    async lend(work) {
      detach()
      try {
        return await work()
      } finally {
        attach()
      }
    },
    close() {
      if (closed) return
      closed = true
      detach()
      process.removeListener('exit', onExit)
      output.stream.off('resize', onResize)
      context.signal.removeEventListener('abort', onEnd)
      waiting?.({ type: 'closed' })
    },
  }
}
