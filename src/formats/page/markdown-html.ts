import type { Highlighter } from '../../render/highlight.ts'
import { markdownTree } from '../../render/markdown-tree.ts'
import type { MarkdownBlock, MarkdownItem, MarkdownSpan, PlacedBlock, TableSide } from '../../render/tree.ts'
import { escapeHtml } from './escape-html.ts'

/** Draws Markdown as HTML. Never passes HTML through; links only to http and https. `highlight` colours code;
 *  null leaves it plain. */
export function markdownToHtml(text: string, highlight: Highlighter | null = null): string {
  return blocksHtml(markdownTree(text))

  function blocksHtml(blocks: readonly PlacedBlock[]): string {
    return blocks.map(({ block }) => blockOf(block)).join('\n')
  }

  function blockOf(block: MarkdownBlock): string {
    switch (block.type) {
      case 'heading': {
        // Headings of a message are below the page's own.
        const level = Math.min(6, block.level + 2)
        return `<h${level}>${spansHtml(block.spans)}</h${level}>`
      }
      case 'paragraph':
        return `<p>${spansHtml(block.spans)}</p>`
      case 'code': {
        const name = block.language === '' ? '' : ` data-language="${escapeHtml(block.language)}"`
        return `<pre${name}><code>${codeHtml(block.text, block.language, highlight)}</code></pre>`
      }
      case 'quote':
        return `<blockquote>${blocksHtml(block.blocks)}</blockquote>`
      case 'list':
        return listHtml(block.items)
      case 'table':
        return tableHtml(block)
      case 'rule':
        return '<hr>'
      default:
        return block satisfies never
    }
  }

  function listHtml(items: readonly MarkdownItem[]): string {
    const first = items[0]?.number ?? null
    const tag = first === null ? 'ul' : 'ol'
    const start = first === null || first === 1 ? '' : ` start="${first}"`
    return `<${tag}${start}>${items.map(itemHtml).join('\n')}</${tag}>`
  }

  function itemHtml({ isChecked, blocks }: MarkdownItem): string {
    const box = isChecked === null ? '' : `<input type="checkbox" disabled${isChecked ? ' checked' : ''}> `
    const [first, ...rest] = blocks
    // The first paragraph is the text of the item. Others are apart from it.
    if (first?.block.type !== 'paragraph') return `<li>${box}${blocksHtml(blocks)}</li>`
    const below = rest.length === 0 ? '' : `\n${blocksHtml(rest)}`
    return `<li>${box}${spansHtml(first.block.spans)}${below}</li>`
  }
}

type Table = Extract<MarkdownBlock, { type: 'table' }>

const sideClass: Readonly<Record<TableSide, string>> = {
  left: '',
  right: ' class="right"',
  middle: ' class="middle"',
}

function tableHtml({ head, rows, sides }: Table): string {
  const row = (cells: Table['head'], tag: string) =>
    `<tr>${cells
      .map((cell, i) => `<${tag}${sideClass[sides[i] ?? 'left']}>${spansHtml(cell)}</${tag}>`)
      .join('')}</tr>`
  return `<div class="wide"><table><thead>${row(head, 'th')}</thead><tbody>${rows
    .map(cells => row(cells, 'td'))
    .join('\n')}</tbody></table></div>`
}

function spansHtml(spans: readonly MarkdownSpan[]): string {
  return spans.map(spanHtml).join('')
}

const tags = { strong: 'strong', emphasis: 'em', strike: 'del' } as const

function spanHtml(span: MarkdownSpan): string {
  switch (span.type) {
    case 'text':
      return escapeHtml(span.text)
    case 'code':
      return `<code>${escapeHtml(span.text)}</code>`
    case 'break':
      return '<br>\n'
    case 'link': {
      // The title shows the target of the link.
      const href = escapeHtml(span.href)
      return `<a href="${href}" title="${href}" rel="noopener noreferrer nofollow">${spansHtml(span.spans)}</a>`
    }
    case 'strong':
    case 'emphasis':
    case 'strike':
      return `<${tags[span.type]}>${spansHtml(span.spans)}</${tags[span.type]}>`
    default:
      return span satisfies never
  }
}

/** The classes of kinds are in `page-style.ts`. */
function codeHtml(code: string, language: string, highlight: Highlighter | null): string {
  let html = ''
  let at = 0
  for (const { from, to, kind } of highlight?.(code, language) ?? []) {
    html += `${escapeHtml(code.slice(at, from))}<span class="k-${kind}">${escapeHtml(code.slice(from, to))}</span>`
    at = to
  }
  return html + escapeHtml(code.slice(at))
}
