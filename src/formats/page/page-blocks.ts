import { formatBytes } from '../../core/amount.ts'
import {
  type Block,
  isKnown,
  type MediaBlock,
  type ToolCallBlock,
  type ToolResultBlock,
} from '../../core/block.ts'
import { mainArgument, outputText } from '../../core/gist.ts'
import { fileText } from '../../core/search/file-text.ts'
import { outcomeText } from '../../core/tool-outcome.ts'
import type { Highlighter } from '../../render/highlight.ts'
import { escapeHtml } from './escape-html.ts'
import { markdownToHtml } from './markdown-html.ts'

/** The result of a call, shown with the call. */
export interface CallResult {
  readonly block: ToolResultBlock
  /** The id of its message, if nothing else of that message is shown: links to it lead here. */
  readonly anchor: string | null
}

export interface BlockOptions {
  resultOf(callId: string): CallResult | null
  /** Colours code; null leaves it plain. */
  readonly highlight: Highlighter | null
}

/** A block as HTML. A call is folded together with its result. */
export function blockHtml(block: Block, { resultOf, highlight }: BlockOptions): string {
  if (!isKnown(block)) return details(`${block.type}, kept as it came`, pre(JSON.stringify(block, null, 2)))
  switch (block.type) {
    case 'text':
      return markdownToHtml(block.text, highlight)
    case 'thinking':
      return details('Thought', markdownToHtml(block.text, highlight))
    case 'tool_call':
      return callHtml(block, resultOf(block.callId))
    case 'tool_result':
      return callHtml({ name: block.name ?? 'result', input: null }, { block, anchor: null })
    default:
      return mediaHtml(block)
  }
}

function callHtml({ name, input }: Pick<ToolCallBlock, 'name' | 'input'>, result: CallResult | null): string {
  const isFailed = result?.block.isError === true
  const argument = shortenText(mainArgument(input), 120)
  const outcome = result === null ? '' : shortenText(outcomeText(result.block), 80)
  const line = [`${isFailed ? '✗ ' : ''}${name}${argument === '' ? '' : `  ${argument}`}`, outcome]
  const inputText = typeof input === 'string' ? input : JSON.stringify(input, null, 2)
  const parts = [
    ...(input === null ? [] : [pre(inputText)]),
    ...(result === null ? [] : [pre(outputText(result.block.output))]),
  ]
  return details(line.filter(part => part !== '').join(' · '), parts.join(''), {
    kind: isFailed ? 'failed' : 'tool',
    anchor: result?.anchor ?? null,
  })
}

/** Media types that a browser does not interpret as a document. Others are named, not embedded. */
const shown: Readonly<Record<MediaBlock['type'], RegExp>> = {
  image: /^image\/(png|jpeg|gif|webp|avif|bmp)$/,
  audio: /^audio\/(mpeg|ogg|wav|webm|mp4|aac|flac)$/,
  video: /^video\/(mp4|webm|ogg)$/,
  file: /^$/,
}

function mediaHtml(block: MediaBlock): string {
  const { type, mime, data, url, name } = block
  const label = name ?? `${type}, ${mime}`
  const base64 = data !== undefined && /^[A-Za-z0-9+/]+={0,2}$/.test(data) ? data : null
  if (base64 !== null && shown[type].test(mime)) {
    const source = `data:${mime};base64,${base64}`
    if (type === 'image') return `<p><img src="${source}" alt="${escapeHtml(label)}"></p>`
    return `<p><${type} controls src="${source}"></${type}></p>`
  }
  const size = base64 === null ? '' : ` · ${formatBytes(Buffer.byteLength(base64, 'base64'))}`
  const text = fileText(block)
  if (text !== '') return details(`${label}${size}`, pre(text))
  // Nothing is fetched: a link leaves that to the reader.
  const where =
    url !== undefined && /^https?:\/\//i.test(url) ? ` · ${markdownToHtml(url).replace(/<\/?p>/g, '')}` : ''
  return `<p class="facts">${escapeHtml(label)}${size}${where}</p>`
}

interface Fold {
  readonly kind?: string
  readonly anchor?: string | null
}

/** A folded section. */
function details(summary: string, body: string, { kind = '', anchor = null }: Fold = {}): string {
  const attributes = `${kind === '' ? '' : ` class="${kind}"`}${anchor === null ? '' : ` id="m-${anchor}"`}`
  return `<details${attributes}><summary>${escapeHtml(oneLine(summary))}</summary><div>${body}</div></details>`
}

function pre(text: string): string {
  return `<pre class="raw"><code>${escapeHtml(text)}</code></pre>`
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Cuts the end of a long text, with dots at the cut. */
export function shortenText(text: string, most: number): string {
  if (text.length <= most) return text
  return `${[...text.slice(0, 2 * most)]
    .slice(0, most - 1)
    .join('')
    .trimEnd()}…`
}
