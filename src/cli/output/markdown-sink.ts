import { markdownPrinter } from './markdown-printer.ts'
import type { Output } from './output.ts'
import type { TextSink } from './text-sink.ts'

export interface MarkdownSink extends TextSink {
  /** Shows what has arrived, and this sign behind it. */
  mark(sign: string): void
}

/** Words of an answer on a terminal, as Markdown that is made readable. */
export function markdownSink(out: Output): MarkdownSink {
  const printer = markdownPrinter(out.style, () => out.width - 1)
  let isFirst = true
  let inLine = false
  const write = (text: string) => {
    // Models like to begin with an empty line.
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
