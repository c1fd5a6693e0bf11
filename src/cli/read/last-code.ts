/** The content of the last fenced code block of a Markdown text, including the final line break, or null. */
export function lastCodeIn(text: string): string | null {
  return fencedIn(text).at(-1) ?? null
}

/** The fenced blocks of a Markdown text. An unclosed block extends to the end. */
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
