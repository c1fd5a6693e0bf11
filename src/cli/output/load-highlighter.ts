import type { Highlighter } from '../../render/highlight.ts'

/** Loads the grammars of code: 300 kB, so only when there is code to colour. */
export async function loadHighlighter(): Promise<Highlighter> {
  const { highlightCode } = await import('../../render/highlight.ts')
  return highlightCode
}
