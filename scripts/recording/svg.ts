import type { Look, Span } from './screen.ts'
import { columns } from './shell.ts'
import type { Frame, Scene } from './story.ts'

const [cell, line, margin, top] = [8.4, 19, 16, 46] as const
/** How long a typed line is shown before Enter. */
export const pauseSeconds = 0.4
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
  const times = [0]
  for (const { seconds } of all) times.push(times.at(-1)! + seconds)
  const at = (frame: number) => percent(times[frame]! / total)
  const loop = `${fixed(total)}s`
  const stretches = stretchesOf(all)
  const moments = stretches.map(({ from, to }, i) => {
    const first = from === 0 ? '' : '0% { visibility: hidden } '
    return `@keyframes k${i} { ${first}${at(from)}% { visibility: visible } ${at(to)}% { visibility: hidden } }
.k${i} { animation: k${i} ${loop} step-end infinite }`
  })
  const typing = all.flatMap(({ typed }, i) => {
    if (typed === undefined) return []
    const [from, to] = [at(i), percent((times[i + 1]! - pauseSeconds) / total)]
    return `@keyframes t${i} { ${i === 0 ? '' : '0% { transform: none } '}${from}% { transform: none; animation-timing-function: steps(${typed}) } ${to}%, 100% { transform: translateX(${fixed(typed * cell)}px) } }
.t${i} { animation: t${i} ${loop} infinite }`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
<title id="t">Skein in a terminal: chat, continue in another terminal, resume, fork, tree, search. As text: recording.md</title>
<style>
.bg { fill: #0f1216; stroke: #2a323c } .ground { fill: #0f1216 } text { fill: #e8ebef; font: 14px ui-monospace, "JetBrains Mono", Menlo, Consolas, monospace; white-space: pre }
.caption { fill: #8b96a3; font: 13px system-ui, sans-serif } .b { font-weight: 700 } .f { fill: #8b96a3 } .mark { fill: #e8ebef } .i { fill: #0f1216 }
.c1 { fill: #f28b82 } .c2 { fill: #93c572 } .c3 { fill: #e3b55b } .c4 { fill: #78abf3 } .c5 { fill: #c29bea } .c6 { fill: #4fc4b2 }
@media (prefers-color-scheme: light) {
.bg { fill: #fbfaf7; stroke: #e2ded5 } .ground { fill: #fbfaf7 } text { fill: #1b1e22 } .caption, .f { fill: #5e666f } .mark { fill: #1b1e22 } .i { fill: #fbfaf7 }
.c1 { fill: #b3261e } .c2 { fill: #3f6b1e } .c3 { fill: #855800 } .c4 { fill: #2459b0 } .c5 { fill: #7a3fb0 } .c6 { fill: #0a6f63 }
}
.frame { visibility: hidden } .still { visibility: visible }
${[...moments, ...typing].join('\n')}
@media (prefers-reduced-motion: reduce) { .frame { animation: none } .cover { display: none } }
</style>
<rect class="bg" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
${stretches.map((one, i) => groupOf(one, i, still)).join('\n')}
</svg>
`
}

/** What stays the same over some frames, and is drawn once for them. */
interface Stretch {
  readonly from: number
  /** The first frame without it. */
  readonly to: number
  readonly drawn: readonly string[]
}

type CaptionedFrame = Frame & { readonly caption: string }

/** The rows of all frames, by the frames that they are on. */
function stretchesOf(all: readonly CaptionedFrame[]): readonly Stretch[] {
  const found = new Map<string, { from: number; to: number; drawn: string[] }>()
  const add = (from: number, to: number, drawn: string) => {
    if (drawn === '') return
    const key = `${from}-${to}`
    const stretch = found.get(key) ?? { from, to, drawn: [] }
    stretch.drawn.push(drawn)
    found.set(key, stretch)
  }
  const rows = Math.max(...all.map(({ screen }) => screen.length))
  for (let row = -1; row < rows; row++) {
    const drawn = all.map(frame => (row < 0 ? captionOf(frame) : rowOf(frame, row)))
    for (let from = 0, to = 1; from < all.length; from = to++) {
      while (to < all.length && drawn[to] === drawn[from]) to++
      add(from, to, drawn[from]!)
    }
  }
  for (const [i, { screen, typed }] of all.entries())
    if (typed !== undefined) add(i, i + 1, coverOf(screen, typed, i))
  return [...found.values()]
}

function groupOf({ from, to, drawn }: Stretch, i: number, still: number): string {
  const isStill = from <= still && still < to
  return `<g class="frame k${i}${isStill ? ' still' : ''}">\n${drawn.join('\n')}\n</g>`
}

function captionOf({ caption }: CaptionedFrame): string {
  return `<text class="caption" x="${margin}" y="26">${escaped(caption)}</text>`
}

function rowOf({ screen }: Frame, row: number): string {
  return (screen[row] ?? []).flatMap(span => spanOf(span, top + row * line)).join('\n')
}

/** Hides the characters that are not typed yet, with a cursor at its left edge. */
function coverOf(screen: Frame['screen'], typed: number, i: number): string {
  const row = screen.findLastIndex(spans => spans.length > 0)
  const { column, text } = screen[row]!.at(-1)!
  const x = fixed(margin + (column + text.length - typed) * cell)
  const y = top + row * line - 1
  return `<g class="cover t${i}"><rect class="ground" x="${x}" y="${y}" width="${fixed((typed + 1) * cell)}" height="${line}"/><rect class="mark" x="${x}" y="${y + 1}" width="8" height="${line - 3}"/></g>`
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
