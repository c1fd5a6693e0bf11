import { escapeHtml } from './escape-html.ts'

/** Renders the Markdown that models write as HTML. Never passes HTML through; links only to http and https.
 *  Every pattern has bounded cost, because the text is untrusted. */
export function markdownToHtml(text: string): string {
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0)
}

/** The maximum nesting of quotes and lists. Deeper ones are shown as text. */
const deepest = 8

function blocks(lines: readonly string[], depth: number): string {
  const html: string[] = []
  let paragraph: string[] = []
  const flush = () => {
    if (paragraph.length > 0) html.push(`<p>${paragraph.map(line => inline(line.trim())).join('<br>\n')}</p>`)
    paragraph = []
  }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})/.exec(line)
    const heading = /^ {0,3}(#{1,6})\s+(.*)$/.exec(line)
    if (fence) {
      flush()
      const end = lines.findIndex((other, at) => at > i && closes(other, fence[1]!))
      const stop = end === -1 ? lines.length : end
      html.push(codeBlock(lines.slice(i + 1, stop), fence[2] ?? ''))
      i = stop
    } else if (heading) {
      flush()
      // Headings of a message are below the page's own.
      const level = Math.min(6, heading[1]!.length + 2)
      html.push(`<h${level}>${inline(heading[2]!.replace(/\s+#+\s*$/, ''))}</h${level}>`)
    } else if (/^ {0,3}([-*_])( ?\1){2,} *$/.test(line)) {
      flush()
      html.push('<hr>')
    } else if (line.startsWith('>') && depth < deepest) {
      flush()
      const end = endOf(i, other => other.startsWith('>'))
      const quoted = lines.slice(i, end).map(other => other.replace(/^> ?/, ''))
      html.push(`<blockquote>${blocks(quoted, depth + 1)}</blockquote>`)
      i = end - 1
    } else if (isItem(line) && depth < deepest) {
      flush()
      const end = endOf(i, other => isItem(other) || /^\s+\S/.test(other))
      html.push(list(lines.slice(i, end), depth))
      i = end - 1
    } else if (isTable(line, lines[i + 1])) {
      flush()
      const end = endOf(i, other => other.includes('|'))
      html.push(tableHtml(lines.slice(i, end)))
      i = end - 1
    } else if (line.trim() === '') flush()
    else paragraph.push(line)
  }
  flush()
  return html.join('\n')

  function endOf(from: number, belongs: (line: string) => boolean): number {
    let end = from + 1
    while (end < lines.length && belongs(lines[end]!)) end++
    return end
  }
}

function closes(line: string, fence: string): boolean {
  const found = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1]
  return found !== undefined && found[0] === fence[0] && found.length >= fence.length
}

function codeBlock(lines: readonly string[], language: string): string {
  const name = language === '' ? '' : ` data-language="${escapeHtml(language)}"`
  return `<pre${name}><code>${escapeHtml(lines.join('\n'))}</code></pre>`
}

const item = /^(\s{0,40})([-*+]|\d{1,9}[.)])\s+(.*)$/

function isItem(line: string): boolean {
  return item.test(line)
}

function list(lines: readonly string[], depth: number): string {
  const [, indent = '', marker = '-'] = item.exec(lines[0]!)!
  const items: string[][] = []
  for (const line of lines) {
    const [, inner = '', , content = ''] = item.exec(line) ?? []
    if (isItem(line) && inner.length <= indent.length) items.push([content])
    // An indented line belongs to the item above it.
    else items.at(-1)!.push(line.slice(Math.min(indentOf(line), indent.length + 2)))
  }
  const ordered = /\d/.test(marker)
  const start = ordered && Number.parseInt(marker, 10) !== 1 ? ` start="${Number.parseInt(marker, 10)}"` : ''
  const tag = ordered ? 'ol' : 'ul'
  const html = items.map(([first = '', ...rest]) => {
    const below = rest.length === 0 ? '' : `\n${blocks(rest, depth + 1)}`
    return `<li>${inline(first)}${below}</li>`
  })
  return `<${tag}${start}>${html.join('\n')}</${tag}>`
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function isTable(line: string, next = ''): boolean {
  return line.includes('|') && next.includes('-') && /^[ |:-]{3,}$/.test(next)
}

function tableHtml(lines: readonly string[]): string {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\|/, '')
      .replace(/\|$/, '')
      .split('|')
      .map(cell => inline(cell.trim()))
  const [head = '', rule = '', ...body] = lines
  const sides = cells(rule).map(sideOf)
  const row = (line: string, tag: string) =>
    `<tr>${cells(line)
      .map((cell, i) => `<${tag}${sides[i] ?? ''}>${cell}</${tag}>`)
      .join('')}</tr>`
  return `<div class="wide"><table><thead>${row(head, 'th')}</thead><tbody>${body
    .map(line => row(line, 'td'))
    .join('\n')}</tbody></table></div>`
}

/** The alignment of a column, by the colons in the rule. */
function sideOf(rule: string): string {
  if (!rule.endsWith(':')) return ''
  return rule.startsWith(':') ? ' class="middle"' : ' class="right"'
}

const spans =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|~~([^~\n]+)~~|\*([^*\s][^*\n]*)\*|\[([^[\]\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)|(https?:\/\/[^\s<>()"'`]{1,2000})/g

function inline(text: string, depth = 0): string {
  let html = ''
  let at = 0
  for (const found of text.matchAll(spans)) {
    const [whole, code, strong, struck, emphasis, label, url, bare] = found
    html += escapeHtml(text.slice(at, found.index))
    at = found.index + whole.length
    if (code !== undefined) html += `<code>${escapeHtml(code)}</code>`
    else if (depth > 4) html += escapeHtml(whole)
    else if (strong !== undefined) html += `<strong>${inline(strong, depth + 1)}</strong>`
    else if (struck !== undefined) html += `<del>${inline(struck, depth + 1)}</del>`
    else if (emphasis !== undefined) html += `<em>${inline(emphasis, depth + 1)}</em>`
    else if (url !== undefined) html += link(url, label!)
    else {
      // Punctuation at the end of a sentence is not part of the URL.
      const address = bare!.replace(/[.,;:!?]+$/, '')
      html += link(address, address) + escapeHtml(bare!.slice(address.length))
    }
  }
  return html + escapeHtml(text.slice(at))
}

/** The title shows the target of the link. */
function link(url: string, label: string): string {
  const href = escapeHtml(url)
  return `<a href="${href}" title="${href}" rel="noopener noreferrer nofollow">${escapeHtml(label)}</a>`
}
