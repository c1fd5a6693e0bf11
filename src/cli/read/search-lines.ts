import { collapseSpaces } from '../../core/collapse-spaces.ts'
import type { SearchHit } from '../../core/listing.ts'
import { cut, cutLineMiddle, padEnd, widthOf } from '../output/cut.ts'
import { plural } from '../output/number.ts'
import type { Style } from '../output/style.ts'
import { formatAge } from '../output/time.ts'

/** The hits of one conversation, in search order. */
export interface HitGroup {
  readonly title: string
  /** Null if all hits are of one project. */
  readonly directory: string | null
  /** The shortest unique prefix. */
  readonly id: string
  readonly hits: readonly ShownHit[]
}

export interface ShownHit {
  readonly id: string
  readonly at: Date
  /** `You`, a model, `tool` or `thinking`. */
  readonly who: string
  readonly snippet: SearchHit['snippet']
}

/** The hits for people, grouped by conversation, with the matches marked. */
export function searchLines(
  groups: readonly HitGroup[],
  width: number,
  now: number,
  style: Style,
): readonly string[] {
  const { dot, dots } = style.symbols
  const hits = groups.flatMap(group => group.hits)
  const widest = (cell: (hit: ShownHit) => string, least: number) =>
    hits.reduce((most, hit) => Math.max(most, widthOf(cell(hit))), least)
  const idWidth = widest(hit => hit.id, 6)
  const ageWidth = widest(hit => formatAge(hit.at, now), 5)
  // On a narrow terminal the snippet is more important than the name.
  const whoWidth =
    width < 56
      ? 0
      : Math.min(
          16,
          widest(hit => style.safe(hit.who), 4),
        )
  return groups.flatMap(group => [...headOf(group), ...group.hits.map(lineOf)])

  function* headOf({ title, directory, id, hits: found }: HitGroup): Generator<string> {
    // On a narrow terminal the directory has a line of its own.
    const isNarrow = width < 64
    const most = isNarrow ? width - 2 : Math.floor(width / 3)
    const where = directory === null ? '' : cutLineMiddle(style.safe(directory), most, dots)
    const facts = `${plural(found.length, 'hit')}${where === '' || isNarrow ? '' : ` ${dot} ${where}`}`
    const room = Math.max(12, width - widthOf(` ${dot} ${id} ${dot} ${facts}`))
    const shown = cut(style.safe(collapseSpaces(title)), room, dots)
    yield `${style.title(shown)} ${dot} ${style.id(id)} ${dot} ${facts}`
    if (isNarrow && where !== '') yield `  ${style.faint(where)}`
  }

  function lineOf({ id, at, who, snippet }: ShownHit): string {
    const named = whoWidth === 0 ? '' : `${padEnd(cut(style.safe(who), whoWidth, dots), whoWidth)}  `
    const lead = `  ${style.id(padEnd(id, idWidth))}  ${style.faint(padEnd(formatAge(at, now), ageWidth))}  ${named}`
    return lead + markSnippet(snippet, Math.max(12, width - widthOf(lead)), style)
  }
}

/** A snippet cut to fit, with its matches marked. Without colours, brackets take room. */
export function markSnippet({ text, marks }: SearchHit['snippet'], width: number, style: Style): string {
  const { dots } = style.symbols
  const brackets = style.colour ? 0 : 2 * marks.length
  const room = Math.max(8, width - brackets - (style.unicode ? 0 : 4))
  // Cut before `safe`, which may add characters: the marks refer to the original text.
  const line = cut(text, room, dots)
  const seen = line === text ? text.length : line.length - dots.length
  const plain = (part: string) => style.safe(style.unicode ? part : part.replaceAll('…', dots))
  let [shown, at] = ['', 0]
  for (const { start, end } of marks) {
    if (start >= seen) break
    shown += plain(line.slice(at, start)) + style.match(style.safe(line.slice(start, Math.min(end, seen))))
    at = Math.min(end, seen)
  }
  return shown + plain(line.slice(at))
}
