import { createHash } from 'node:crypto'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { cut } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { plural } from '../output/number.ts'
import { resultsOf } from '../output/tool-line.ts'
import { escapeHtml } from './escape-html.ts'
import type { Exported, Line } from './exported.ts'
import { markdownToHtml } from './markdown-html.ts'
import { blockHtml, oneLine, type Result } from './page-blocks.ts'
import { pageStyle } from './page-style.ts'

/** A conversation as one page: every branch, readable offline and without a script. Nothing that was said can become
 *  a tag, and should it ever, the page's own policy lets nothing run and nothing be fetched. */
export function toHtml(exported: Exported): string {
  const { conversation, lines, branches } = exported
  const title = escapeHtml(oneLine(conversation.title ?? 'Untitled'))
  const leaving = Map.groupBy(lines.slice(1), line => line.from)
  const summaries = Map.groupBy(exported.summaries, summary => summary.last)
  const messages = lines.reduce((sum, line) => sum + line.messages.length, 0)
  const facts = [
    plural(messages, 'message'),
    plural(branches.length, 'branch', 'branches'),
    ...(conversation.directory === null ? [] : [escapeHtml(conversation.directory)]),
    timeOf(conversation.createdAt),
  ]
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
    'img-src data:',
    'media-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ]
  return `<!doctype html>
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
${contents(lines)}
</header>
<main>
${lines.map((line, i) => lineHtml(line, i)).join('\n')}
</main>
<footer>Conversation ${conversation.id}, kept by Skein.</footer>
</body>
</html>
`

  function lineHtml(line: Line, i: number): string {
    const heading =
      i === 0
        ? ''
        : `<h2>${nameOf(line)}</h2><p class="ways">${
            line.from === null
              ? 'Another beginning'
              : `Leaves from <a href="#m-${line.from}">${line.from.slice(0, 6)}</a>`
          } · ${plural(line.messages.length, 'message')}</p>`
    const results = resultsOf(line.messages)
    const articles = line.messages.map(message => messageHtml(message, results))
    return `<section class="${i === 0 ? 'path' : 'line'}">${heading}
${articles.filter(article => article !== '').join('\n')}
</section>`
  }

  function messageHtml(message: Message, results: Results): string {
    const { id, role, createdAt, label } = message
    // It stands with its calls, unless something hangs on it.
    if (isFolded(message, results)) return `${waysFrom(id)}${summariesAt(id)}`
    return `<article id="m-${id}" class="${role}">
<header><b>${escapeHtml(exported.speaker(message))}</b> <time datetime="${createdAt.toISOString()}">${timeOf(createdAt)}</time>${
      label === null ? '' : ` <span>${escapeHtml(label)}</span>`
    } <a href="#m-${id}">${id.slice(0, 6)}</a></header>
<div class="body">${bodyOf(message, results)}</div>
${waysFrom(id)}</article>${summariesAt(id)}`
  }

  function waysFrom(id: MessageId): string {
    const ways = leaving.get(id) ?? []
    if (ways.length === 0) return ''
    const links = ways.map(line => `${linkTo(line)} (${plural(line.messages.length, 'message')})`)
    return `<p class="ways">From here also: ${links.join(' · ')}</p>\n`
  }

  function summariesAt(id: MessageId): string {
    const cards = (summaries.get(id) ?? []).map(
      ({ text, first }) =>
        `\n<details class="summary-card"><summary>Summary from ${first.slice(0, 6)} to here</summary><div class="body">${markdownToHtml(text)}</div></details>`,
    )
    return cards.join('')
  }
}

type Results = ReturnType<typeof resultsOf>

/** Whether all that a message says is the result of a call, and shown there. */
function isFolded({ role, blocks, erased, label }: Message, results: Results): boolean {
  if (role !== 'tool_result' || erased || label !== null || blocks.length === 0) return false
  return blocks.every(block => isShownWithCall(block, results))
}

function isShownWithCall(block: Message['blocks'][number], results: Results): boolean {
  return block.type === 'tool_result' && results.get(String(block.callId))?.block === block
}

function bodyOf({ erased, blocks }: Message, results: Results): string {
  if (erased) return `<p class="facts">Erased on ${timeOf(erased.at)}: ${escapeHtml(erased.reason)}</p>`
  const anchored = new Set<string>()
  const resultOf = (callId: string): Result | null => {
    const found = results.get(callId)
    if (!found) return null
    const { id } = found.message
    const isFirst = isFolded(found.message, results) && !anchored.has(id)
    anchored.add(id)
    return { block: found.block, anchor: isFirst ? id : null }
  }
  return blocks
    .filter(block => !isShownWithCall(block, results))
    .map(block => blockHtml(block, resultOf))
    .join('\n')
}

/** The ways through the conversation, where there is more than one. */
function contents(lines: readonly Line[]): string {
  if (lines.length < 2) return ''
  return `<nav class="ways">Ways through it: ${lines.map(linkTo).join(' · ')}</nav>`
}

function linkTo(line: Line): string {
  return `<a href="#m-${line.messages[0]!.id}">${nameOf(line)}</a>`
}

function nameOf({ branches, messages }: Line): string {
  return escapeHtml(branches.length > 0 ? branches.join(', ') : cut(gistOf(messages[0]!), 60))
}

/** In one zone for all who will read it. */
function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
