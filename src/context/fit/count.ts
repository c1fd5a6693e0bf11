import type { Block } from '../../core/block.ts'
import { InvalidError } from '../../core/errors.ts'
import { countedText, mediaIn, mediaTokens } from '../../core/tokens.ts'
import type { CountTokens } from './window.ts'

/** The part of `gpt-tokenizer` that is used. */
export interface Tokenizer {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number
}

/** Longer text is tokenized in pieces: the tokenizer takes seconds for a long run without spaces. */
const pieceLength = 512

/** Makes a counter that tokenizes text with the encoding of the newer OpenAI models (`o200k_base`). The
 *  counts of other providers differ by some percent. Media count as in `estimateTokens`. Special tokens
 *  (`<|endoftext|>`) count as plain text. Throws InvalidError if the optional dependency `gpt-tokenizer` is
 *  not installed. */
export async function exactCounter(): Promise<CountTokens> {
  return tokenizerCounter(async () => {
    // A bundler accepts that an import within `try` cannot be resolved.
    try {
      return await import('gpt-tokenizer')
    } catch (error) {
      return explainMissing(error)
    }
  })
}

/** The same with any tokenizer. */
export async function tokenizerCounter(load: () => Promise<Tokenizer>): Promise<CountTokens> {
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

/** Characters of the text in these blocks; media have none. */
export function countCharacters(blocks: readonly Block[]): number {
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
  // Node, and the code of webpack for a module that was missing when the bundle was made.
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
  throw new InvalidError(
    'tokens',
    'exact counting needs the package gpt-tokenizer: npm install gpt-tokenizer',
  )
}
