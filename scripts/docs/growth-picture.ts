/** What a contender needs at one size of the conversation, in microseconds. */
export interface GrowthPoint {
  readonly messages: number
  readonly append: number
  readonly tail: number
  readonly load: number
}

/** The data of `npm run bench -- growth`. */
export interface Growth {
  readonly measured: string
  readonly floor: readonly GrowthPoint[]
  readonly ours: readonly GrowthPoint[]
  readonly langgraph: readonly GrowthPoint[]
  readonly mastra: readonly GrowthPoint[]
}

type Operation = 'append' | 'tail' | 'load'
type Contender = 'floor' | 'ours' | 'langgraph' | 'mastra'

const panels: readonly { readonly operation: Operation; readonly title: string }[] = [
  { operation: 'append', title: 'Append a turn' },
  { operation: 'tail', title: 'Read the newest 40 messages' },
  { operation: 'load', title: 'Load the conversation' },
]
const lines: readonly { readonly name: Contender; readonly label: string }[] = [
  { name: 'floor', label: 'hand-written SQL' },
  { name: 'mastra', label: 'Mastra' },
  { name: 'langgraph', label: 'LangGraph' },
  { name: 'ours', label: 'Skein' },
]

const [panelWidth, panelHeight, gap, left, top, bottom] = [250, 240, 62, 58, 66, 52] as const
const width = left + panels.length * panelWidth + (panels.length - 1) * gap + 24
const height = top + panelHeight + bottom
/** Both axes are logarithmic, in powers of ten: 10 to 100,000 messages, 10 µs to 100 s. */
const [fewest, most] = [1, 5] as const
const [fastest, slowest] = [1, 8] as const
const timeNames = ['10 µs', '100 µs', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '100 s'] as const
const sizeNames = ['10', '100', '1k', '10k', '100k'] as const

/** The picture of docs/performance.md: no script, no font, no external resource. It follows the reader's
 *  light or dark theme. */
export function growthPicture(growth: Growth): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
<title id="t">Time of an append, of the newest 40 messages and of a load, from 10 to 100,000 messages in one conversation: Skein, hand-written SQL, LangGraph and Mastra. docs/performance.md has the figures.</title>
<style>
.bg { fill: #fbfaf7; stroke: #e2ded5 } text { fill: #1b1e22; font: 12px system-ui, sans-serif } .title { font-size: 13px; font-weight: 600 } .tick { fill: #5e666f; font-size: 11px }
.grid { stroke: #e2ded5 } path { fill: none; stroke-width: 2; stroke-linejoin: round }
.ours { stroke: #2459b0; fill: #2459b0 } .mastra { stroke: #3f6b1e; fill: #3f6b1e } .langgraph { stroke: #b3261e; fill: #b3261e } .floor { stroke: #8b96a3; fill: #8b96a3 }
path.floor { stroke-dasharray: 4 3 } path.ours { stroke-width: 3 } path.ours, path.mastra, path.langgraph, path.floor { fill: none } text.ours, text.mastra, text.langgraph, text.floor { stroke: none }
@media (prefers-color-scheme: dark) {
.bg { fill: #0f1216; stroke: #2a323c } text { fill: #e8ebef } .tick { fill: #8b96a3 } .grid { stroke: #2a323c }
.ours { stroke: #78abf3; fill: #78abf3 } .mastra { stroke: #93c572; fill: #93c572 } .langgraph { stroke: #f28b82; fill: #f28b82 }
}
</style>
<rect class="bg" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
${legend()}
${panels.map((panel, index) => panelOf(growth, panel.operation, panel.title, left + index * (panelWidth + gap))).join('\n')}
</svg>
`
}

function legend(): string {
  const step = 150
  return lines
    .map(({ name, label }, i) => {
      const x = left + i * step
      return `<path class="${name}" d="M${x} 20h24"/><text class="${name}" x="${x + 30}" y="24">${label}</text>`
    })
    .join('\n')
}

function panelOf(growth: Growth, operation: Operation, title: string, x0: number): string {
  const x = (messages: number) => x0 + ((Math.log10(messages) - fewest) / (most - fewest)) * panelWidth
  const y = (us: number) =>
    top + panelHeight - ((Math.log10(us) - fastest) / (slowest - fastest)) * panelHeight
  const times = timeNames.map((name, i) => {
    const at = y(10 ** (fastest + i))
    return `<path class="grid" d="M${x0} ${fixed(at)}h${panelWidth}" stroke-width="1"/><text class="tick" x="${x0 - 6}" y="${fixed(at + 4)}" text-anchor="end">${name}</text>`
  })
  const sizes = sizeNames.map((name, i) => {
    const at = x(10 ** (fewest + i))
    return `<text class="tick" x="${fixed(at)}" y="${top + panelHeight + 18}" text-anchor="middle">${name}</text>`
  })
  const curves = lines.flatMap(({ name }) => {
    const points = growth[name]
    if (points.length === 0) return []
    const path = points.map(point => `${fixed(x(point.messages))} ${fixed(y(point[operation]))}`).join('L')
    const end = points.at(-1)!
    const isCutOff = end.messages < 10 ** most
    const dot = isCutOff
      ? `<circle class="${name}" cx="${fixed(x(end.messages))}" cy="${fixed(y(end[operation]))}" r="4"/>`
      : ''
    return [`<path class="${name}" d="M${path}"/>${dot}`]
  })
  return `<text class="title" x="${x0}" y="${top - 14}">${title}</text>
${times.join('\n')}
${sizes.join('\n')}
<text class="tick" x="${x0 + panelWidth / 2}" y="${top + panelHeight + 38}" text-anchor="middle">messages in the conversation</text>
${curves.join('\n')}`
}

function fixed(value: number): string {
  return value.toFixed(1)
}
