import { createHash } from 'node:crypto'
import { plural } from '../../core/amount.ts'
import { gistOf } from '../../core/gist.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { toolResults } from '../../core/tool-outcome.ts'
import { escapeHtml } from './escape-html.ts'
import type { ExportedConversation, ExportedLine } from './exported-conversation.ts'
import { markdownToHtml } from './markdown-html.ts'
import { blockHtml, type CallResult, oneLine, shortenText } from './page-blocks.ts'

/** A conversation as one page: every branch, readable offline and without scripts. Messages cannot inject
 *  tags, and the page's content security policy would block scripts and requests anyway. */
export async function* exportHtml(exported: ExportedConversation): AsyncGenerator<string> {
  const { conversation, lines, branches } = exported
  const title = escapeHtml(oneLine(conversation.title ?? 'Untitled'))
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
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
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
${lines.length < 2 ? '' : `<nav class="ways">Ways through it: ${lines.map(linkTo).join(' · ')}</nav>`}
</header>
<main>
`
  for (const [i, line] of lines.entries()) yield* lineHtml(line, i)
  yield `</main>
<footer>Conversation ${conversation.id}, kept by Skein.</footer>
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
    for await (const { messages: some, around } of exported.parts(line)) {
      const results = toolResults(around)
      for (const message of some) {
        const article = messageHtml(message, results)
        if (article !== '') yield `${article}\n`
      }
    }
    yield '</section>\n'
  }

  function linkTo(line: ExportedLine): string {
    return `<a href="#m-${line.first}">${names.get(line)}</a>`
  }

  function messageHtml(message: Message, results: Results): string {
    const { id, role, createdAt, label } = message
    // Shown with its calls, so only its links and summaries are left.
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
    const links = ways.map(line => `${linkTo(line)} (${plural(line.size, 'message')})`)
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

type Results = ReturnType<typeof toolResults>

/** Whether a message consists only of results that are shown with their calls. */
function isFolded({ role, content: blocks, erased, label }: Message, results: Results): boolean {
  if (role !== 'tool_result' || erased || label !== null || blocks.length === 0) return false
  return blocks.every(block => isShownWithCall(block, results))
}

function isShownWithCall(block: Message['content'][number], results: Results): boolean {
  return block.type === 'tool_result' && results.get(String(block.callId))?.block === block
}

function bodyOf({ erased, content: blocks }: Message, results: Results): string {
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
    .map(block => blockHtml(block, resultOf))
    .join('\n')
}

async function nameOf(line: ExportedLine, exported: ExportedConversation): Promise<string> {
  if (line.branches.length > 0) return escapeHtml(line.branches.join(', '))
  for await (const { messages } of exported.parts({ ...line, size: 1 }))
    if (messages[0]) return escapeHtml(shortenText(gistOf(messages[0]), 60))
  return escapeHtml(line.first.slice(0, 6))
}

/** UTC: the readers may be in any time zone. */
function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** The style sheet of an exported page: the colours of the viewer, light and dark. Fetches no font, image or
 *  script. */
const pageStyle = `
:root { color-scheme: light dark; --bg: #fbfaf7; --surface: #f4f2ed; --line: #e2ded5; --text: #1b1e22; --text-2: #49515a;
  --text-3: #5e666f; --accent: #0a6f63; --danger: #b3261e; --code: #f6f4ef; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1216; --surface: #151a20; --line: #2a323c; --text: #e8ebef;
  --text-2: #aeb7c2; --text-3: #8b96a3; --accent: #4fc4b2; --danger: #f28b82; --code: #12161b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.6 Inter, system-ui, sans-serif; }
body > header, main, footer { max-width: 780px; margin: 0 auto; padding: 24px 16px; }
body > header { padding-bottom: 0; } main { padding-top: 4px; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 4px; }
h3, h4, h5, h6 { font-size: 15px; margin: 16px 0 4px; }
a { color: var(--accent); }
.facts, .ways, footer { color: var(--text-3); font-size: 13px; }
.line { border-top: 1px solid var(--line); margin-top: 40px; padding-top: 24px; }
article { border-left: 2px solid var(--line); padding: 4px 0 4px 16px; margin: 20px 0; overflow-wrap: anywhere; }
article:target { border-left-color: var(--accent); background: var(--surface); }
article.user { border-left-color: var(--accent); }
article.user > .body { font-size: 16px; font-weight: 480; }
article > header { display: flex; flex-wrap: wrap; gap: 0 12px; align-items: baseline; font-size: 13px; color: var(--text-3); }
article > header > :not(span) { white-space: nowrap; }
article > header b { color: var(--text); }
article > header a { margin-left: auto; text-decoration: none; font-family: monospace; }
.body, summary { unicode-bidi: plaintext; }
p { margin: 8px 0; }
pre, code { font: 13px/1.5 "JetBrains Mono", ui-monospace, monospace; background: var(--code); border-radius: 6px; }
code { padding: 1px 4px; overflow-wrap: anywhere; }
pre { padding: 12px; overflow-x: auto; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
pre.raw { white-space: pre-wrap; max-height: 480px; overflow-y: auto; margin: 8px 0; }
pre.raw code { overflow-wrap: anywhere; }
details { margin: 8px 0; border: 1px solid var(--line); border-radius: 6px; }
details.tool > summary, details.failed > summary { font-family: "JetBrains Mono", ui-monospace, monospace; font-size: 12px; }
details:target { border-color: var(--accent); }
details > summary { cursor: pointer; padding: 4px 12px; font-size: 13px; color: var(--text-2); }
details > :not(summary) { margin: 8px 12px; }
details.failed > summary { color: var(--danger); }
details.summary-card { border-style: dashed; }
blockquote { margin: 8px 0; padding-left: 12px; border-left: 3px solid var(--line); color: var(--text-2); }
img { max-width: 100%; max-height: 420px; }
.wide { overflow-x: auto; margin: 12px 0; } table { border-collapse: collapse; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: 4px 8px; text-align: left; vertical-align: top; min-width: 72px; }
.right { text-align: right; font-variant-numeric: tabular-nums; } .middle { text-align: center; }
@media print { article, pre { break-inside: avoid; } }
`
