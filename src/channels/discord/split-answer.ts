/** Most UTF-16 units of a message in Discord. */
export const mostCharacters = 2_000

/** An open code fence: its marker, and the line that opens it again in the next part. */
interface OpenFence {
  readonly marker: string
  readonly opening: string
}

/** A message of an answer, and where the next one begins. */
interface AnswerPart {
  readonly text: string
  readonly next: number
  /** The fence that is open there. */
  readonly fence: OpenFence | null
}

/** Splits an answer into messages of at most `limit` UTF-16 units. A cut is at a blank line, a line break or
 *  a space; a word is only cut if it fills a message, or if a marker of a fence would come to the beginning
 *  of a part, and never within a surrogate pair. A code fence that is open at a cut is closed there and
 *  opened again in the next part. The white space at a cut is dropped; every other character is in exactly
 *  one part.
 *
 *  If a text grows at its end, all parts but the last one stay as they are. A streaming answer can therefore
 *  be split again and again. */
export function splitAnswer(text: string, limit = mostCharacters): readonly string[] {
  const parts: string[] = []
  let fence: OpenFence | null = null
  for (let start = 0; start < text.length; ) {
    const part: AnswerPart = nextPart(text, start, fence, limit)
    // Discord refuses a message without visible characters.
    if (part.text.trim() !== '') parts.push(part.text)
    start = part.next
    fence = part.fence
  }
  return parts
}

/** Room for the line that closes a fence: a line break and a marker. */
const reserve = 24
const mostMarker = 20

function nextPart(text: string, start: number, fence: OpenFence | null, limit: number): AnswerPart {
  const before = fence === null ? '' : `${fence.opening}\n`
  const isFenced = fence !== null || beginsFence.test(text.slice(start, start + limit))
  const room = limit - before.length - (isFenced ? reserve : 0)
  if (text.length - start <= room) {
    const rest = text.slice(start)
    const open = fenceAfter(rest, fence)
    const after = open === null ? '' : `${rest.endsWith('\n') ? '' : '\n'}${open.marker}`
    return { text: before + rest + after, next: text.length, fence: null }
  }
  const at = cutOf(text, start, room)
  const isSpace = isBlank(text[at.end]) && at.next > at.end
  const open = fenceAfter(text.slice(start, at.end), fence)
  if (open === null) return { text: before + text.slice(start, at.end), next: at.next, fence: null }
  // In code, a space belongs to the line.
  const end = isSpace ? at.end + 1 : at.end
  const next = text[at.end] === '\n' ? (closedAt(text, at.end + 1, open) ?? at.next) : at.next
  const isClosed = next !== at.next
  return {
    text: `${before}${text.slice(start, end)}\n${open.marker}`,
    next,
    fence: isClosed ? null : open,
  }
}

/** The last place for a cut. `next` is after the white space that the cut drops. */
function cutOf(text: string, start: number, room: number): { readonly end: number; readonly next: number } {
  const most = start + room
  const least = start + Math.floor(room / 2)
  const isFilled = (end: number) => text.slice(start, end).trim() !== ''
  // A blank line if the part is at least half full, then a line break, then a space. Nothing after `most` is
  // read: a text that grows must not move the cut.
  const paragraph = text.lastIndexOf('\n\n', most - 1)
  if (paragraph > least && isFilled(paragraph)) return { end: paragraph, next: paragraph + 2 }
  const line = text.lastIndexOf('\n', most)
  if (line > start && isFilled(line)) return { end: line, next: line + 1 }
  // What follows a space at `most` is not known.
  for (let at = most - 1; at > start; at--)
    if (isBlank(text[at]) && isFilled(at) && !mayBeginFence(text[at + 1])) return { end: at, next: at + 1 }
  let end = most
  while (end > start + 1 && mayBeginFence(text[end])) end--
  if (isInPair(text, end) && end > start + 1) end--
  return { end, next: end }
}

/** Whether a marker in the middle of a line would be one at the beginning of the next part, where it opens a
 *  fence. */
function mayBeginFence(unit: string | undefined): boolean {
  return unit === '`' || unit === '~' || isBlank(unit)
}

function isBlank(unit: string | undefined): boolean {
  return unit === ' ' || unit === '\t'
}

/** Whether a cut here would separate the halves of a surrogate pair. */
function isInPair(text: string, at: number): boolean {
  const [high = 0, low = 0] = [text.charCodeAt(at - 1), text.charCodeAt(at)]
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff
}

const beginsFence = /(?:^|\n) {0,3}(?:```|~~~)/
const fenceLine = new RegExp(`^ {0,3}(\`{3,${mostMarker}}|~{3,${mostMarker}})(?![\`~])([^\`\\n]*)$`)
/** Longer information after a marker is not repeated. */
const mostInfo = 40

/** The fence that is open after these lines, by the rules of CommonMark: a fence is closed by a marker of the
 *  same character that is at least as long. */
function fenceAfter(text: string, before: OpenFence | null): OpenFence | null {
  let open = before
  for (const line of text.split('\n')) {
    const [, marker, info = ''] = fenceLine.exec(line) ?? []
    if (marker === undefined) continue
    if (open === null) {
      const language = info.trim()
      open = { marker, opening: marker + (language.length > mostInfo ? '' : language) }
    } else if (marker[0] === open.marker[0] && marker.length >= open.marker.length && info.trim() === '') {
      open = null
    }
  }
  return open
}

/** The end of the line at `at`, with its line break, if it is the marker that closes the fence. */
function closedAt(text: string, at: number, { marker }: OpenFence): number | null {
  const lineEnd = text.indexOf('\n', at)
  const end = lineEnd < 0 ? text.length : lineEnd
  return text.slice(at, end) === marker ? Math.min(text.length, end + 1) : null
}
