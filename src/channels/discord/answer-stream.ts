import { setTimeout as wait } from 'node:timers/promises'
import type { AnswerPort } from './incoming.ts'
import { splitAnswer } from './split-answer.ts'

/** An answer on its way to Discord. */
export interface AnswerStream {
  /** Adds words. They are shown with the next edit. */
  write(text: string): void
  /** Sets the line of the bot's own below the words, also after the end. */
  note(line: string): void
  /** Resolves when everything is shown, or cannot be. */
  end(): Promise<void>
  /** True if Discord shows some words of the answer. */
  readonly isVisible: boolean
}

export interface AnswerStreamOptions {
  readonly port: AnswerPort
  /** The message that is answered. */
  readonly replyTo: string
  /** The shortest time between two edits. Default: 1,200. */
  readonly intervalMs?: number
  /** Reports words that could not be shown. They are stored nevertheless. */
  onProblem(error: unknown): void
}

/** Discord shows the indicator for ten seconds. */
const typingMs = 8_000
const defaultIntervalMs = 1_200
/** How often a failed request is repeated, besides the repetitions of the client. */
const mostFailures = 3

/** Shows an answer while it grows: the first words are a message, which is then edited; what does not fit
 *  follows in further messages. One request is in flight, and the next one carries the newest text. */
export function createAnswerStream(options: AnswerStreamOptions): AnswerStream {
  const { port, replyTo, intervalMs = defaultIntervalMs, onProblem } = options
  const posted: { readonly id: string; text: string }[] = []
  let words = ''
  let ownLine = ''
  let isEnding = false
  let isGivenUp = false
  let lastAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let pumping: Promise<void> | null = null
  const stopTyping = showTyping(port)

  function wanted(): readonly string[] {
    const gap = words === '' || ownLine === '' ? '' : '\n\n'
    return splitAnswer(words.trimStart() + gap + ownLine)
  }

  /** The next request: the first part that is not shown as it is. */
  function nextChange(): { readonly at: number; readonly text: string } | null {
    const parts = wanted()
    const at = parts.findIndex((text, i) => posted[i]?.text !== text)
    return at < 0 ? null : { at, text: parts[at]! }
  }

  async function pump(): Promise<void> {
    for (let change = nextChange(); change && !isGivenUp; change = nextChange()) {
      const isEdit = posted[change.at] !== undefined
      const dueIn = isEdit ? lastAt + intervalMs - performance.now() : 0
      if (dueIn > 0) {
        await wait(dueIn)
        continue
      }
      try {
        await show(change)
        failures = 0
      } catch (error) {
        if (++failures >= mostFailures) giveUp(error)
        else await wait(intervalMs)
      }
    }
  }

  async function show({ at, text }: { readonly at: number; readonly text: string }): Promise<void> {
    const known = posted[at]
    stopTyping()
    if (known === undefined) {
      const id = await port.send(text, at === 0 ? replyTo : null)
      posted.push({ id, text })
    } else if (await port.edit(known.id, text)) {
      known.text = text
    } else {
      // A person has removed the answer: the rest is not shown either.
      isGivenUp = true
    }
    lastAt = performance.now()
  }

  function giveUp(error: unknown): void {
    isGivenUp = true
    onProblem(error)
  }

  function kick(): void {
    if (pumping || isGivenUp) return
    pumping = pump().finally(() => {
      pumping = null
      // Words that came during the last request.
      if (!isEnding && nextChange()) kick()
    })
  }

  return {
    get isVisible() {
      return posted.length > 0
    },
    write(text) {
      words += text
      if (words.trim() !== '') kick()
    },
    note(line) {
      ownLine = line
      kick()
    },
    async end() {
      isEnding = true
      while (!isGivenUp && (pumping || nextChange())) {
        kick()
        await pumping
      }
      stopTyping()
    },
  }
}

/** Shows the indicator until the first words. Returns a function that stops it. */
function showTyping(port: AnswerPort): () => void {
  const show = () => void port.showTyping().catch(() => undefined)
  const timer = setInterval(show, typingMs)
  timer.unref()
  show()
  return () => clearInterval(timer)
}
