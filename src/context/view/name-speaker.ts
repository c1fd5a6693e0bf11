import { asBlocks, type Block, isMedia } from '../../core/block.ts'
import { isPlainObject, type JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { estimateTokens, isTextType } from '../../core/tokens.ts'

/** A person who wrote a message, as channels store it in `metadata.author`. */
export interface Speaker {
  /** The person's id in the channel. */
  readonly id: string
  /** The name that the channel shows. Any text. */
  readonly name: string
}

/** The author of a message, or null if its metadata names none. */
export function speakerOf({ metadata }: { readonly metadata: JsonObject | null }): Speaker | null {
  const author = metadata?.author
  if (!isPlainObject(author)) return null
  const { id, name } = author
  return typeof id === 'string' && typeof name === 'string' ? { id, name } : null
}

/** Names the author of a user's message in a line before its words: `[speaker "Ada", id 42]`. A name cannot
 *  leave its quotes, and a line of the words that looks like such a line gets a leading backslash, so neither
 *  can imitate another speaker or a role (R15). For the context of a call: what is stored does not
 *  change. A message without an author is returned as it is. */
export function nameSpeaker(message: Message): Message {
  const speaker = message.role === 'user' ? speakerOf(message) : null
  if (speaker === null) return message
  const line = speakerLine(speaker)
  const guarded = message.content.map(guardBlock)
  const [first, ...rest] = guarded
  const named: readonly Block[] =
    first?.type === 'text'
      ? [{ ...first, text: `${line}\n${first.text}` }, ...rest]
      : [...asBlocks(line), ...guarded]
  return { ...message, content: named, tokens: message.tokens + estimateTokens(line) }
}

/** The line before the words of a speaker. */
export function speakerLine({ id, name }: Speaker): string {
  return `[speaker "${plainName(name)}", id ${id.replaceAll(/[^\w-]/g, '').slice(0, 64) || 'unknown'}]`
}

const mostName = 48

/** One line without quotes, brackets and invisible characters. */
function plainName(name: string): string {
  const clean = name
    .normalize('NFC')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll(/[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"\\`<>＂]/gu, "'")
    .replaceAll(/\s+/gu, ' ')
    .trim()
  return [...clean].slice(0, mostName).join('') || 'unnamed'
}

function guardBlock(block: Block): Block {
  if (block.type === 'text') return { ...block, text: guardSpeakers(block.text) }
  // A text file is sent as text.
  if (!isMedia(block) || block.data === undefined || !isTextType(block.mime)) return block
  const text = Buffer.from(block.data, 'base64').toString('utf8')
  const guarded = guardSpeakers(text)
  return guarded === text ? block : { ...block, data: Buffer.from(guarded).toString('base64') }
}

const lineEnds = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029'
const lines = new RegExp(`[^${lineEnds}]+`, 'g')

/** Puts a backslash before each line that looks like the line of a speaker. */
function guardSpeakers(text: string): string {
  if (!/s.*p.*e.*a.*k/is.test(text.normalize('NFKD'))) return text
  return text.replaceAll(lines, line => (looksLikeSpeaker(line) ? `\\${line}` : line))
}

function looksLikeSpeaker(line: string): boolean {
  const legible = line
    .normalize('NFKD')
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{M}]/gu, '')
    .toLowerCase()
  return /^[\s\\>*_#`~-]*[\p{Ps}\p{Pi}<]\s*speaker/u.test(legible)
}
