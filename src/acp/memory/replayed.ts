import { fence } from '../../context/text/guard-lines.ts'
import { wordsOf } from '../transcript/answer.ts'
import type { Heard } from '../transcript/heard.ts'
import { bare } from './bare.ts'

/** A replay, read for what an agent knows. All texts are bare. Places are numbers that grow along the replay. */
export interface Replayed {
  /** Where words of the user may end. */
  readonly ends: readonly UserEnd[]
  /** What else there is, in order. */
  readonly rest: readonly Replica[]
}

/** A place where words of the user end: the end of a piece, or of a line that we once told the agent. */
export interface UserEnd {
  readonly at: number
  /** All that the user said here without a break, up to this place. */
  readonly text: string
  readonly kind: 'said' | 'told'
  /** Where the piece itself begins. */
  readonly from: number
}

/** Something else than the user's words. */
export type Replica =
  | { readonly type: 'answer' | 'told'; readonly at: number; readonly text: string }
  | { readonly type: 'call'; readonly at: number; readonly callId: string }

/** Reads a replay. Pieces of the user's words that follow each other are one text, of which each piece may be the end of
 *  a message: agents split messages, join them, and put texts of their own before and after. */
export function readReplay(replay: readonly Heard[]): Replayed {
  const ends: UserEnd[] = []
  const rest: Replica[] = []
  let place = 0
  let pieces: string[] = []

  function endWords(): void {
    if (pieces.length === 0) return
    place = readWords(pieces, place, ends, rest) + 1
    pieces = []
  }

  for (const heard of replay) {
    if (heard.type === 'user') pieces.push(wordsOf(heard.block))
    else if (heard.type === 'answer') {
      endWords()
      rest.push({ type: 'answer', at: place - 0.5, text: bare(wordsOf(heard.block)) })
    } else if (heard.type === 'call') {
      endWords()
      rest.push({ type: 'call', at: place - 0.5, callId: heard.call.callId })
    }
  }
  endWords()
  return { ends, rest }
}

/** Words of the user that follow each other. Returns where they end. */
function readWords(pieces: readonly string[], start: number, ends: UserEnd[], rest: Replica[]): number {
  const text = bare(pieces.join(''))
  const found: { at: number; take(): void }[] = []
  let at = start
  for (const piece of pieces) {
    const from = at
    at += bare(piece).length
    const end: UserEnd = { at, from, text: text.slice(0, at - start), kind: 'said' }
    found.push({ at, take: () => ends.push(end) })
  }
  for (const line of toldLines(pieces.join(''))) {
    const end = start + line.end
    const { text } = line
    found.push({
      at: end,
      take: () => {
        if (text.startsWith('User:')) ends.push({ at: end, from: end - text.length, text, kind: 'told' })
        else rest.push({ type: 'told', at: end, text })
      },
    })
  }
  for (const { take } of found.sort((a, b) => a.at - b.at)) take()
  return at
}

interface ToldLine {
  readonly text: string
  /** Where it ends in the bare text. */
  readonly end: number
}

/** A backslash before a fence says that it is one of the stored words. */
const histories = new RegExp(`(?<!\\\\)<${fence}>([\\s\\S]*?)(?<!\\\\)</${fence}>`, 'g')
const label = /^(?=(?:User|Assistant|System|Tool): )/m

/** The messages that we once told the agent, from the text in which we did. No stored words can begin a line with a label
 *  of ours, so that it can be read back. */
function toldLines(raw: string): readonly ToldLine[] {
  return [...raw.matchAll(histories)].flatMap(({ index, 1: inside = '' }) => {
    let end = bare(raw.slice(0, index)).length + `<${fence}>`.length
    return inside.split(label).flatMap(part => {
      const text = bare(part)
      end += text.length
      return label.test(part) ? [{ text, end }] : []
    })
  })
}
