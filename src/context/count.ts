import type { Block } from '../core/block.ts'
import { InvalidError } from '../core/errors.ts'
import { countedText, estimateTokens, mediaIn, mediaTokens } from '../core/tokens.ts'
import type { CountTokens } from './fitted.ts'

/** Characters / 4, rounded up; an image, a sound, a video or a file counts `mediaTokens`, whatever its size,
 *  because providers scale them to about that. Free, and close in total. */
export const countByCharacters: CountTokens = estimateTokens

/** The part of `gpt-tokenizer` that is used. */
interface Tokenizer {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number
}

/** Text longer than this goes through the tokenizer in pieces: it takes seconds for a long run without spaces. */
const pieceLength = 512

/** Makes a counter that tokenizes the text, by the encoding of the newer OpenAI models (`o200k_base`); other
 *  providers' counts differ from it by some percent. Media count as they do by characters. Text that reads like
 *  a special token (`<|endoftext|>`) counts as the text it is. Throws InvalidError if `gpt-tokenizer`, an
 *  optional dependency, is not installed. */
export async function exactCounter(
  load: () => Promise<Tokenizer> = () => import('gpt-tokenizer'),
): Promise<CountTokens> {
  const { countTokens } = await load().catch(explainMissing)
  const plain = { disallowedSpecial: new Set<string>() }
  const countText = (text: string): number => {
    let tokens = 0
    for (let start = 0; start < text.length; ) {
      const end = endOfPiece(text, start)
      tokens += countTokens(text.slice(start, end), plain)
      start = end
    }
    return tokens
  }
  return blocks => {
    let tokens = 0
    for (const block of blocks) {
      tokens += countText(countedText(block)) + mediaIn(block) * mediaTokens
    }
    return tokens
  }
}

/** Characters of what is sent as text; media have none. */
export function charactersOf(blocks: readonly Block[]): number {
  let characters = 0
  for (const block of blocks) characters += countedText(block).length
  return characters
}

/** Never between the halves of a surrogate pair. */
function endOfPiece(text: string, start: number): number {
  const end = Math.min(start + pieceLength, text.length)
  if (end === text.length) return end
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

function explainMissing(error: unknown): never {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code !== 'ERR_MODULE_NOT_FOUND') throw error
  throw new InvalidError(
    'tokens',
    'exact counting needs the package gpt-tokenizer: npm install gpt-tokenizer',
  )
}
