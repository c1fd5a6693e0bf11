/** What a terminal reports. */
export type Key =
  | { readonly type: 'text'; readonly text: string }
  /** A bracketed paste. */
  | { readonly type: 'paste'; readonly text: string }
  | { readonly type: 'key'; readonly name: KeyName }

export type KeyName =
  | 'enter'
  /** Alt+Enter, Ctrl+J, and Shift+Enter where the terminal distinguishes it. */
  | 'newline'
  | 'tab'
  | 'escape'
  | 'backspace'
  | 'delete'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down'
  | 'word-left'
  | 'word-right'
  | 'kill-word'
  | 'kill-before'
  | 'kill-after'
  | 'yank'
  | 'interrupt'
  | 'end-of-input'
  | 'redraw'
  | 'suspend'
  | 'forward'
  | 'read'
  /** Ctrl+R. */
  | 'search'
  /** Ctrl+G. */
  | 'editor'

export interface KeyReader {
  /** The keys in a chunk. An incomplete sequence waits for the next chunk. */
  read(chunk: string): readonly Key[]
  /** True if an incomplete sequence waits. */
  readonly waits: boolean
  /** Called after a timeout: an incomplete sequence is taken as it is, such as a lone Escape. */
  flush(): readonly Key[]
}

const pasteStart = '\x1b[200~'
const pasteEnd = '\x1b[201~'

/** Parses what a terminal sends in raw mode. Unknown sequences are dropped, never taken for text. */
export function keyReader(): KeyReader {
  let rest = ''
  let pasted: string | null = null

  function read(chunk: string): readonly Key[] {
    // Ctrl+J comes alone. After text, \n is an Enter that was typed before raw mode.
    rest +=
      pasted === null && !chunk.includes('\x1b') && chunk !== '\n' ? chunk.replaceAll('\n', '\r') : chunk
    const keys: Key[] = []
    while (rest !== '') {
      if (pasted !== null) {
        if (!takePaste(keys)) break
        continue
      }
      const taken = next(rest)
      if (taken === null) break
      rest = rest.slice(taken.length)
      if (taken.key === 'paste') pasted = ''
      else if (taken.key) keys.push(taken.key)
    }
    return keys
  }

  /** Returns false if the end of the paste has not arrived. */
  function takePaste(keys: Key[]): boolean {
    const end = rest.indexOf(pasteEnd)
    if (end === -1) {
      // The end marker itself may be split between chunks.
      const kept = Math.max(0, rest.length - pasteEnd.length + 1)
      pasted += rest.slice(0, kept)
      rest = rest.slice(kept)
      return false
    }
    const text = `${pasted}${rest.slice(0, end)}`.replace(/\r\n?/g, '\n')
    rest = rest.slice(end + pasteEnd.length)
    pasted = null
    if (text !== '') keys.push({ type: 'paste', text })
    return true
  }

  return {
    read,
    get waits() {
      return rest !== '' && pasted === null
    },
    flush() {
      const waiting = rest
      rest = ''
      return waiting === '\x1b' ? [named('escape')] : []
    },
  }
}

interface Taken {
  readonly length: number
  readonly key: Key | 'paste' | null
}

const controls: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'newline',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x01': 'home',
  '\x02': 'left',
  '\x03': 'interrupt',
  '\x04': 'end-of-input',
  '\x05': 'end',
  '\x06': 'forward',
  '\x07': 'editor',
  '\x0b': 'kill-after',
  '\x0c': 'redraw',
  '\x0e': 'down',
  '\x10': 'up',
  '\x12': 'search',
  '\x14': 'read',
  '\x15': 'kill-before',
  '\x17': 'kill-word',
  '\x19': 'yank',
  '\x1a': 'suspend',
}

const sequences: Readonly<Record<string, KeyName>> = {
  '[A': 'up',
  '[B': 'down',
  '[C': 'right',
  '[D': 'left',
  '[H': 'home',
  '[F': 'end',
  OA: 'up',
  OB: 'down',
  OC: 'right',
  OD: 'left',
  OH: 'home',
  OF: 'end',
  '[1~': 'home',
  '[7~': 'home',
  '[4~': 'end',
  '[8~': 'end',
  '[3~': 'delete',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[1;3D': 'word-left',
  '[1;3C': 'word-right',
  '[1;5D': 'word-left',
  '[1;5C': 'word-right',
  '[1;2D': 'left',
  '[1;2C': 'right',
  '[13;2u': 'newline',
  '[13;3u': 'newline',
  '[13;5u': 'newline',
  '[27;2;13~': 'newline',
  '[27;3;13~': 'newline',
  '[27;5;13~': 'newline',
  OM: 'enter',
  '\r': 'newline',
  '\n': 'newline',
  b: 'word-left',
  f: 'word-right',
  '\x7f': 'kill-word',
  '\b': 'kill-word',
}

/** The first key, or null if the sequence is incomplete. */
function next(text: string): Taken | null {
  const first = text[0]!
  if (first === '\x1b') return escaped(text)
  const control = controls[first]
  if (control) return { length: 1, key: named(control) }
  if (isControl(first)) return { length: 1, key: null }
  let end = 1
  while (end < text.length && !isControl(text[end]!)) end++
  return { length: end, key: { type: 'text', text: text.slice(0, end) } }
}

function escaped(text: string): Taken | null {
  if (text.length === 1) return null
  if (text.startsWith(pasteStart)) return { length: pasteStart.length, key: 'paste' }
  const second = text[1]!
  if (second === '\x1b') return { length: 1, key: named('escape') }
  if (second === '[') {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own sequences
    const whole = /^\x1b(\[[0-?]*[ -/]*[@-~])/.exec(text)
    if (whole) return { length: whole[0].length, key: keyOf(whole[1]!) }
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own sequences
    return /^\x1b\[[0-?]*[ -/]*$/.test(text) ? null : { length: 2, key: null }
  }
  if (second === 'O') {
    return text.length < 3 ? null : { length: 3, key: keyOf(text.slice(1, 3)) }
  }
  return { length: 2, key: keyOf(second) }
}

function keyOf(sequence: string): Key | null {
  const name = sequences[sequence]
  return name ? named(name) : null
}

function named(name: KeyName): Key {
  return { type: 'key', name }
}

/** Includes the C1 range, which terminals may interpret as escapes. */
function isControl(character: string): boolean {
  const code = character.charCodeAt(0)
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}
