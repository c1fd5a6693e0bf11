import { createHash } from 'node:crypto'
import { type Block, isKnown, type MediaBlock } from '../../core/block.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { argumentOf, gistOf, outputText } from '../look/gist.ts'
import { cut } from '../terminal/cut.ts'
import { bytes, plural } from '../terminal/number.ts'
import { escapeHtml } from './escape-html.ts'
import type { Exported, Line } from './exported.ts'
import { markdownToHtml } from './markdown-html.ts'
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
    return `<section class="${i === 0 ? 'path' : 'line'}">${heading}
${line.messages.map(messageHtml).join('\n')}
</section>`
  }

  function messageHtml(message: Message): string {
    const { id, role, createdAt, label } = message
    return `<article id="m-${id}" class="${role}">
<header><b>${escapeHtml(exported.speaker(message))}</b> <time datetime="${createdAt.toISOString()}">${timeOf(createdAt)}</time>${
      label === null ? '' : ` <span>${escapeHtml(label)}</span>`
    } <a href="#m-${id}">${id.slice(0, 6)}</a></header>
<div class="body">${bodyOf(message)}</div>
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

function bodyOf(message: Message): string {
  const { erased, blocks } = message
  if (erased) return `<p class="facts">Erased on ${timeOf(erased.at)}: ${escapeHtml(erased.reason)}</p>`
  return blocks.map(blockHtml).join('\n')
}

function blockHtml(block: Block): string {
  if (!isKnown(block)) return folded(`${block.type}, kept as it came`, pre(JSON.stringify(block, null, 2)))
  switch (block.type) {
    case 'text':
      return markdownToHtml(block.text)
    case 'thinking':
      return folded('Thought', markdownToHtml(block.text))
    case 'tool_call': {
      const { name, input } = block
      const given = typeof input === 'string' ? input : JSON.stringify(input, null, 2)
      return folded(`${name}  ${cut(argumentOf(input), 120)}`, pre(given))
    }
    case 'tool_result': {
      const output = outputText(block.output)
      const name = block.isError ? `✗ ${block.name ?? 'result'} failed` : (block.name ?? 'result')
      const size = plural(output.split('\n').length, 'line')
      return folded(`${name} · ${size}`, pre(output), block.isError ? 'failed' : '')
    }
    default:
      return mediaHtml(block)
  }
}

/** Pictures that no browser takes for a document. Anything else is named, not shown. */
const shown: Readonly<Record<MediaBlock['type'], RegExp>> = {
  image: /^image\/(png|jpeg|gif|webp|avif|bmp)$/,
  audio: /^audio\/(mpeg|ogg|wav|webm|mp4|aac|flac)$/,
  video: /^video\/(mp4|webm|ogg)$/,
  file: /^$/,
}

function mediaHtml({ type, mime, data, url, name }: MediaBlock): string {
  const label = name ?? `${type}, ${mime}`
  const base64 = data !== undefined && /^[A-Za-z0-9+/]+={0,2}$/.test(data) ? data : null
  if (base64 !== null && shown[type].test(mime)) {
    const source = `data:${mime};base64,${base64}`
    if (type === 'image') return `<p><img src="${source}" alt="${escapeHtml(label)}"></p>`
    return `<p><${type} controls src="${source}"></${type}></p>`
  }
  const size = base64 === null ? '' : ` · ${bytes(Math.floor((base64.length * 3) / 4))}`
  // Nothing is fetched from elsewhere: whoever reads the page decides.
  const where =
    url !== undefined && /^https?:\/\//i.test(url) ? ` · ${markdownToHtml(url).replace(/<\/?p>/g, '')}` : ''
  return `<p class="facts">${escapeHtml(label)}${size}${where}</p>`
}

function folded(summary: string, body: string, kind = ''): string {
  const name = kind === '' ? '' : ` class="${kind}"`
  return `<details${name}><summary>${escapeHtml(oneLine(summary))}</summary><div>${body}</div></details>`
}

function pre(text: string): string {
  return `<pre><code>${escapeHtml(text)}</code></pre>`
}

/** In one zone for all who will read it. */
function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
