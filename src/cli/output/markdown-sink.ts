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
  const write = (text: string) => {
    // Models tend to begin with empty lines.
    const shown = isFirst ? text.replace(/^\n+/, '') : text
    if (shown === '') return
    isFirst = false
    inLine = !shown.endsWith('\n')
    out.write(shown)
  }
  return {
    push: text => write(printer.add(text)),
    mark(sign) {
      write(printer.end())
      out.write(sign)
      inLine = true
    },
    pause() {
      write(printer.end())
      if (inLine) out.write('\n')
      inLine = false
      isFirst = true
    },
  }
}
