import type { Message } from '../../core/message.ts'

/** The inside of the last fenced block that was said, with the line break at its end, or null. */
export function lastCode(path: readonly Message[]): string | null {
  for (const { blocks } of path.toReversed()) {
    for (const block of blocks.toReversed()) {
      const found = block.type === 'text' ? fencedIn(String(block.text)).at(-1) : undefined
      if (found !== undefined) return found
    }
  }
  return null
}

/** The fenced blocks of a Markdown text. One that is never closed reaches to the end. */
function fencedIn(text: string): readonly string[] {
  const found: string[] = []
  let open: { readonly fence: string; readonly indent: number; readonly lines: string[] } | null = null
  for (const line of text.split(/\r?\n/)) {
    const mark = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line)
    const [, indent = '', fence = '', info = ''] = mark ?? []
    if (open === null) {
      if (mark && !(fence.startsWith('`') && info.includes('`')))
        open = { fence, indent: indent.length, lines: [] }
    } else if (
      mark &&
      info.trim() === '' &&
      fence[0] === open.fence[0] &&
      fence.length >= open.fence.length
    ) {
      found.push(joined(open.lines))
      open = null
    } else open.lines.push(line.replace(new RegExp(`^ {0,${open.indent}}`), ''))
  }
  if (open !== null && open.lines.length > 0) found.push(joined(open.lines))
  return found
}

function joined(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}
