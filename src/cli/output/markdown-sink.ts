import { widthOf } from './cut.ts'
import { markdownPrinter } from './markdown-printer.ts'
import type { Output } from './output.ts'
import type { TextSink } from './text-sink.ts'

export interface MarkdownSink extends TextSink {
  /** Shows what has arrived, followed by this sign. */
  mark(sign: string): void
}

/** Prints an answer to a terminal as rendered Markdown. */
export function markdownSink(out: Output): MarkdownSink {
  const printer = markdownPrinter(out.style, () => out.width - 1)
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
  return {
    push: text => write(printer.add(text)),
    mark(sign) {
      write(printer.end())
      out.write(sign)
      inLine = true
      marked += widthOf(sign)
    },
    pause() {
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
