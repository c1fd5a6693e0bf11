import { Lexer, Tokenizer } from 'marked'

/** The parser of Markdown. In the bundles its first call evaluates it (`scripts/build/marked-later.ts`): its
 *  patterns take milliseconds to create, and most commands parse nothing. */
export function marked(): { readonly Lexer: typeof Lexer; readonly Tokenizer: typeof Tokenizer } {
  return { Lexer, Tokenizer }
}
