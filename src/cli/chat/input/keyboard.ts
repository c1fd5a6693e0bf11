import type { CommandContext } from '../../command-line/command-context.ts'
import type { Output } from '../../output/output.ts'
import { type Key, keyReader } from './key-reader.ts'

/** A key, a resized window, the return from a suspended process, or the end of the input. */
export type KeyStroke =
  | Key
  | { readonly type: 'resize' }
  | { readonly type: 'woken' }
  | { readonly type: 'closed' }

/** The keyboard, in raw mode while it is open. Keys that are typed ahead are buffered. */
export interface Keyboard {
  next(): Promise<KeyStroke>
  /** The next key that is typed from now on. Buffered keys stay buffered: they were not meant for this
   *  question. */
  nextFresh(): Promise<KeyStroke>
  /** Until the work is done, `next` reads only keys that are typed from now on. If the signal is aborted, the
   *  input has ended for the work. */
  fresh<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** Drops these keys and Enter if they are typed next: the rest of a word after its first letter has
   *  answered a question. If anything else is typed, no key is dropped. */
  dropRest(rest: string): void
  /** Calls the listener for every Ctrl+C and Escape until the returned function is called. Other keys are
   *  buffered for the next prompt. A question that is open then gets an Escape instead. */
  onInterrupt(listener: (by: 'interrupt' | 'escape') => void): () => void
  /** Has a prompt that waits for a key painted again. */
  repaint(): void
  /** Gives the terminal to other code, such as a pager, until the work is done. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** Restores the terminal. */
  close(): void
}

/** How long an Escape waits for the rest of a sequence. */
const escapeMs = 50

/** A terminal that was closed cannot be read or set. Its keyboard is closed all the same, which sets it.
 *  Stays with the stream: an error may also come later. */
const ignoreError = () => undefined

/** Opens the keyboard. `output` is the terminal that shows the input. */
export function openKeyboard(context: CommandContext, output: Output): Keyboard {
  const { stdin } = context
  const reader = keyReader()
  const strokes: KeyStroke[] = []
  let waiting: ((stroke: KeyStroke) => void) | null = null
  let rest: { readonly expected: string; readonly held: readonly Key[] } | null = null
  let interrupted: ((by: 'interrupt' | 'escape') => void) | null = null
  let timer: NodeJS.Timeout | undefined
  let closed = false
  /** Ends the work of `fresh`. */
  let calledOff: AbortSignal | null = null

  /** Holds keys that may be the rest of an answer. Returns the keys to handle now. */
  function withoutRest(key: Key): readonly Key[] {
    if (rest === null) return [key]
    const { expected, held } = rest
    const isEnter = key.type === 'key' && key.name === 'enter'
    if (isEnter && (held.length === 0 || expected === '')) {
      rest = null
      return []
    }
    if (key.type === 'text' && expected !== '' && expected.startsWith(key.text.toLowerCase())) {
      rest = { expected: expected.slice(key.text.length), held: [...held, key] }
      return []
    }
    rest = null
    return [...held, key]
  }

  function push(stroke: KeyStroke): void {
    const name = stroke.type === 'key' ? stroke.name : null
    if (interrupted && name === 'interrupt') interrupted(name)
    else if (interrupted && name === 'escape' && !waiting) interrupted(name)
    else if (name === 'suspend') suspend()
    else if (waiting) {
      const take = waiting
      waiting = null
      take(stroke)
    } else if (stroke.type !== 'resize' && stroke.type !== 'woken') strokes.push(stroke)
  }

  function onData(chunk: string | Buffer): void {
    clearTimeout(timer)
    for (const read of reader.read(String(chunk))) for (const key of withoutRest(read)) push(key)
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

  /** Ctrl+Z: suspends the process, and redraws the prompt on return. Without a shell that could resume the
   *  process, it is not suspended, and continues after a moment. */
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
    stdin.on('error', onEnd)
    raw(true)
    stdin.resume()
  }

  function detach(): void {
    clearTimeout(timer)
    stdin.off('data', onData)
    stdin.off('end', onEnd)
    stdin.off('error', onEnd)
    raw(false)
    stdin.pause()
  }

  // Restores the terminal, however the process ends.
  const onExit = () => raw(false)
  process.once('exit', onExit)
  stdin.setEncoding('utf8')
  if (!stdin.listeners('error').includes(ignoreError)) stdin.on('error', ignoreError)
  output.stream.on('resize', onResize)
  context.signal.addEventListener('abort', onEnd)
  attach()

  function nextFresh(): Promise<KeyStroke> {
    if (closed || context.signal.aborted || calledOff?.aborted) return Promise.resolve({ type: 'closed' })
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
    async fresh(signal, work) {
      const typedAhead = strokes.splice(0)
      const stop = () => {
        waiting?.({ type: 'closed' })
        waiting = null
      }
      calledOff = signal
      signal.addEventListener('abort', stop)
      try {
        return await work()
      } finally {
        signal.removeEventListener('abort', stop)
        calledOff = null
        strokes.unshift(...typedAhead)
      }
    },
    dropRest(word) {
      rest = { expected: word, held: [] }
    },
    onInterrupt(listener) {
      interrupted = listener
      // Ctrl+C may have been pressed before the listener was set: it also cancels the input typed before it.
      const early = strokes.findIndex(stroke => stroke.type === 'key' && stroke.name === 'interrupt')
      if (early !== -1) {
        strokes.splice(0, early + 1)
        queueMicrotask(() => interrupted?.('interrupt'))
      }
      return () => {
        interrupted = null
      }
    },
    repaint: onResize,
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
