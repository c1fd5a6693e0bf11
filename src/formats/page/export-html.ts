import { createHash } from 'node:crypto'
import { formatCount, formatMoney, plural } from '../../core/amount.ts'
import { isKnown } from '../../core/block.ts'
import { gistOf } from '../../core/gist.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { toolResults } from '../../core/tool-outcome.ts'
import type { Usage } from '../../core/turn.ts'
import { withoutMarkup } from '../../core/without-markup.ts'
import type { Highlighter } from '../../render/highlight.ts'
import { hasFence } from '../../render/markdown-tree.ts'
import { escapeHtml } from './escape-html.ts'
import {
  type ExportedConversation,
  type ExportedLine,
  type LinePart,
  usageAt,
} from './exported-conversation.ts'
import { markdownToHtml } from './markdown-html.ts'
import { blockHtml, type CallResult, oneLine, shortenText } from './page-blocks.ts'
import { pageScript } from './page-script.ts'
import { pageStyle } from './page-style.ts'

/** A conversation as one page: every branch, a map of the prompts and a search box. It makes no request and
 *  is complete without its script. Messages cannot inject tags, and the page's content security policy would
 *  block any script but its own, and every request. */
export async function* exportHtml(exported: ExportedConversation): AsyncGenerator<string> {
  const { conversation, lines, branches } = exported
  const title = escapeHtml(oneLine(withoutMarkup(conversation.title ?? 'Untitled')))
  const leaving = Map.groupBy(lines.slice(1), line => line.from)
  const summaries = Map.groupBy(exported.summaries, summary => summary.last)
  const messages = lines.reduce((sum, line) => sum + line.size, 0)
  const names = new Map<ExportedLine, string>()
  for (const line of lines) names.set(line, await nameOf(line, exported))
  const facts = [
    plural(messages, 'message'),
    plural(branches.length, 'branch', 'branches'),
    ...(conversation.directory === null ? [] : [escapeHtml(conversation.directory)]),
    timeOf(conversation.createdAt),
  ]
  const map: MapEntry[] = []
  let highlight: Highlighter | null = null
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(pageStyle)}'`,
    `script-src '${hashOf(pageScript)}'`,
    'img-src data:',
    'media-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ]
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p class="facts">${facts.join(' · ')}</p>
${lines.length < 2 ? '' : `<nav class="ways">Branches: ${lines.map(linkTo).join(' · ')}</nav>`}
<label class="find hidden"><input type="search" placeholder="Find in this conversation"> <output></output></label>
</header>
<main>
`
  for (const [i, line] of lines.entries()) yield* lineHtml(line, i)
  yield `</main>
${mapHtml(map, names)}
<footer>Conversation ${conversation.id}, kept by Skein.</footer>
<script>${pageScript}</script>
</body>
</html>
`

  async function* lineHtml(line: ExportedLine, i: number): AsyncGenerator<string> {
    const heading =
      i === 0
        ? ''
        : `<h2>${names.get(line)}</h2><p class="ways">${
            line.from === null
              ? 'Another beginning'
              : `Leaves from <a href="#m-${line.from}">${line.from.slice(0, 6)}</a>`
          } · ${plural(line.size, 'message')}</p>`
    yield `<section class="${i === 0 ? 'path' : 'line'}">${heading}\n`
    for await (const part of exported.parts(line)) {
      const results = toolResults(part.around)
      for (const message of part.messages) {
        if (highlight === null && hasCode(message))
          highlight = (await import('../../render/highlight.ts')).highlightCode
        if (message.role === 'user' && map.length < mostInMap)
          map.push({ line, id: message.id, text: shortenText(gistOf(message), 80) })
        const article = messageHtml(message, results, part)
        if (article !== '') yield `${article}\n`
      }
    }
    yield '</section>\n'
  }

  function linkTo(line: ExportedLine): string {
    return `<a href="#m-${line.first}">${names.get(line)}</a>`
  }

  function messageHtml(message: Message, results: Results, part: LinePart): string {
    const { id, role, createdAt, label } = message
    // Shown with its calls, so only its links and summaries are left.
    if (isFolded(message, results)) return `${waysFrom(id)}${summariesAt(id)}`
    return `<article id="m-${id}" class="${role}">
<header><b>${escapeHtml(exported.speaker(message, part))}</b> <time datetime="${createdAt.toISOString()}">${timeOf(createdAt)}</time>${
      label === null ? '' : ` <span>${escapeHtml(label)}</span>`
    }${usageHtml(usageAt(message, part))} <a href="#m-${id}">${id.slice(0, 6)}</a></header>
<div class="body">${bodyOf(message, results, highlight)}</div>
${waysFrom(id)}</article>${summariesAt(id)}`
  }

  function waysFrom(id: MessageId): string {
    const ways = leaving.get(id) ?? []
    if (ways.length === 0) return ''
    const links = ways.map(line => `${linkTo(line)} (${plural(line.size, 'message')})`)
    return `<p class="ways">From here also: ${links.join(' · ')}</p>\n`
  }

  function summariesAt(id: MessageId): string {
    const cards = (summaries.get(id) ?? []).map(
      ({ text, first }) =>
        `\n<details class="summary-card"><summary>Summary from ${first.slice(0, 6)} to here</summary><div class="body">${markdownToHtml(text, highlight)}</div></details>`,
    )
    return cards.join('')
  }
}

type Results = ReturnType<typeof toolResults>

/** Whether a message consists only of results that are shown with their calls. */
function isFolded({ role, content: blocks, erased, label }: Message, results: Results): boolean {
  if (role !== 'tool_result' || erased || label !== null || blocks.length === 0) return false
  return blocks.every(block => isShownWithCall(block, results))
}

function isShownWithCall(block: Message['content'][number], results: Results): boolean {
  return block.type === 'tool_result' && results.get(String(block.callId))?.block === block
}

function bodyOf(
  { erased, content: blocks }: Message,
  results: Results,
  highlight: Highlighter | null,
): string {
  if (erased) return `<p class="facts">Erased on ${timeOf(erased.erasedAt)}: ${escapeHtml(erased.reason)}</p>`
  const anchored = new Set<string>()
  const resultOf = (callId: string): CallResult | null => {
    const found = results.get(callId)
    if (!found) return null
    const { id } = found.message
    const isFirst = isFolded(found.message, results) && !anchored.has(id)
    anchored.add(id)
    return { block: found.block, anchor: isFirst ? id : null }
  }
  return blocks
    .filter(block => !isShownWithCall(block, results))
    .map(block => blockHtml(block, { resultOf, highlight }))
    .join('\n')
}

/** The branches that end in a line, and its first words: the name alone may be only a number. */
async function nameOf(line: ExportedLine, exported: ExportedConversation): Promise<string> {
  const branches = line.branches.join(', ')
  for await (const { messages } of exported.parts({ ...line, size: 1 })) {
    if (!messages[0]) continue
    const words = shortenText(gistOf(messages[0]), 60)
    return escapeHtml([branches, words].filter(part => part !== '').join(': '))
  }
  return escapeHtml(branches || line.first.slice(0, 6))
}

/** A prompt in the map. */
interface MapEntry {
  readonly line: ExportedLine
  readonly id: MessageId
  readonly text: string
}

/** The maximum number of prompts in the map: it is held in memory while the page is written. */
const mostInMap = 2_000

/** The prompts of each branch, as links. */
function mapHtml(map: readonly MapEntry[], names: ReadonlyMap<ExportedLine, string>): string {
  if (map.length < 2) return ''
  const sections = [...Map.groupBy(map, ({ line }) => line)].map(
    ([line, entries]) =>
      `<p><b>${names.get(line)}</b></p>\n<ol>${entries
        .map(({ id, text }) => `<li><a href="#m-${id}">${escapeHtml(text)}</a></li>`)
        .join('\n')}</ol>`,
  )
  const rest = map.length < mostInMap ? '' : '<p class="facts">Later prompts are not in this map.</p>'
  return `<nav class="map" aria-label="Map"><h2>Map</h2>\n${sections.join('\n')}${rest}</nav>`
}

/** `1.2k in, 300 out, $0.02` */
function usageHtml(usage: Usage | null): string {
  if (usage === null) return ''
  const parts = [
    ...(usage.input === undefined ? [] : [`${formatCount(usage.input)} in`]),
    ...(usage.output === undefined ? [] : [`${formatCount(usage.output)} out`]),
    ...(usage.cost === undefined || usage.cost === 0 ? [] : [formatMoney(usage.cost)]),
  ]
  return parts.length === 0 ? '' : ` <span>${parts.join(', ')}</span>`
}

function hasCode({ content }: Message): boolean {
  return content.some(
    block => isKnown(block) && (block.type === 'text' || block.type === 'thinking') && hasFence(block.text),
  )
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** UTC: the readers may be in any time zone. */
function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
