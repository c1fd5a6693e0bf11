import type { Highlighter } from '../../render/highlight.ts'
import { hasFence } from '../../render/markdown-tree.ts'
import { widthOf } from './cut.ts'
import { loadHighlighter } from './load-highlighter.ts'
import { markdownPrinter } from './markdown-printer.ts'
import type { Output } from './output.ts'
import type { TextSink } from './text-sink.ts'

export interface MarkdownSink extends TextSink {
  /** Shows what has arrived, followed by this sign. */
  mark(sign: string): void
}

/** Prints an answer to a terminal as rendered Markdown. The grammars for code are loaded at the first fence;
 *  meanwhile the text waits. */
export function markdownSink(out: Output): MarkdownSink {
  let highlight: Highlighter | null = null
  let loading: Promise<void> | null = null
  let waiting = ''
  let end = ''
  const printer = markdownPrinter({
    style: out.style,
    width: () => out.width - 1,
    highlight: () => highlight,
  })
  let isFirst = true
  let inLine = false
  /** The cells of the signs in the last row. */
  let marked = 0
  const write = (text: string) => {
    // Models tend to begin with empty lines.
    const shown = isFirst ? text.replace(/^\n+/, '') : text
    if (shown === '') return
    isFirst = false
    inLine = !shown.endsWith('\n')
    if (shown.includes('\n')) marked = 0
    out.write(shown)
  }
  const flush = () => {
    const text = waiting
    waiting = ''
    if (text !== '') write(printer.add(text))
  }
  const load = async () => {
    highlight = await loadHighlighter()
    loading = null
    flush()
  }
  return {
    push(text) {
      if (highlight === null && loading === null && out.style.colour && hasFence(end + text)) loading = load()
      end = (end + text).slice(-2)
      waiting += text
      if (loading === null) flush()
    },
    async settled() {
      await loading
    },
    mark(sign) {
      flush()
      write(printer.end())
      out.write(sign)
      inLine = true
      marked += widthOf(sign)
    },
    pause() {
      flush()
      write(printer.end())
      if (inLine) out.write('\n')
      inLine = false
      marked = 0
      isFirst = true
    },
    get column() {
      return inLine ? printer.column + marked : 0
    },
  }
}
