import type { Look, Span } from './screen.ts'
import { columns } from './shell.ts'
import type { Frame, Scene } from './story.ts'

const [cell, line, margin, top] = [8.4, 19, 16, 46] as const
const width = Math.ceil(columns * cell + 2 * margin)

/** The still picture: the whole conversation with its branches. */
const standing = 'Tree'

/** The story as one animated picture: no script, no font, no external resource. It follows the reader's light
 *  or dark theme, and stands still if the reader prefers reduced motion. */
export function svgOf(scenes: readonly Scene[]): string {
  const all = scenes.flatMap(({ caption, frames }) => frames.map(frame => ({ caption, ...frame })))
  const total = all.reduce((sum, { seconds }) => sum + seconds, 0)
  const still = all.findLastIndex(({ caption }) => caption.startsWith(standing))
  const rows = Math.max(...all.map(({ screen }) => screen.findLastIndex(row => row.length > 0) + 1))
  const height = top + rows * line + margin
  let began = 0
  const moments = all.map(({ seconds }, i) => {
    const [from, to] = [percent(began / total), percent((began + seconds) / total)]
    began += seconds
    const first = i === 0 ? '' : '0% { visibility: hidden } '
    return `@keyframes k${i} { ${first}${from}% { visibility: visible } ${to}% { visibility: hidden } }
.k${i} { animation: k${i} ${total}s step-end infinite }`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
<title id="t">Skein in a terminal: chat, continue in another terminal, resume, fork, tree, search. As text: recording.md</title>
<style>
.bg { fill: #0f1216; stroke: #2a323c } text { fill: #e8ebef; font: 14px ui-monospace, "JetBrains Mono", Menlo, Consolas, monospace; white-space: pre }
.caption { fill: #8b96a3; font: 13px system-ui, sans-serif } .b { font-weight: 700 } .f { fill: #8b96a3 } .mark { fill: #e8ebef } .i { fill: #0f1216 }
.c1 { fill: #f28b82 } .c2 { fill: #93c572 } .c3 { fill: #e3b55b } .c4 { fill: #78abf3 } .c5 { fill: #c29bea } .c6 { fill: #4fc4b2 }
@media (prefers-color-scheme: light) {
.bg { fill: #fbfaf7; stroke: #e2ded5 } text { fill: #1b1e22 } .caption, .f { fill: #5e666f } .mark { fill: #1b1e22 } .i { fill: #fbfaf7 }
.c1 { fill: #b3261e } .c2 { fill: #3f6b1e } .c3 { fill: #855800 } .c4 { fill: #2459b0 } .c5 { fill: #7a3fb0 } .c6 { fill: #0a6f63 }
}
.frame { visibility: hidden } .still { visibility: visible }
${moments.join('\n')}
@media (prefers-reduced-motion: reduce) { .frame { animation: none } }
</style>
<rect class="bg" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
${all.map((frame, i) => frameOf(frame, i, i === still)).join('\n')}
</svg>
`
}

function frameOf(
  { caption, screen }: Frame & { readonly caption: string },
  i: number,
  isStill: boolean,
): string {
  const spans = screen.flatMap((row, n) => row.flatMap(span => spanOf(span, top + n * line)))
  return `<g class="frame k${i}${isStill ? ' still' : ''}">
<text class="caption" x="${margin}" y="26">${escaped(caption)}</text>
${spans.join('\n')}
</g>`
}

function spanOf({ column, text, look }: Span, y: number): readonly string[] {
  const x = fixed(margin + column * cell)
  const length = fixed(text.length * cell)
  const lit = look.inverse
    ? [`<rect class="mark" x="${x}" y="${y - 1}" width="${length}" height="${line - 2}" rx="2"/>`]
    : []
  const classes = classesOf(look)
  const named = classes === '' ? '' : ` class="${classes}"`
  // The length is given, so that columns align in any font.
  return [...lit, `<text${named} x="${x}" y="${y + 13}" textLength="${length}">${escaped(text)}</text>`]
}

function classesOf({ bold, faint, inverse, colour }: Look): string {
  if (inverse) return 'i'
  return [bold ? 'b' : '', colour === null ? (faint ? 'f' : '') : `c${colour}`].filter(Boolean).join(' ')
}

function percent(share: number): string {
  return fixed(share * 100)
}

function fixed(n: number): string {
  return String(Number(n.toFixed(2)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
