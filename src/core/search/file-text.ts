import type { MediaBlock } from '../block.ts'

/** Kinds of files that are text, although their name does not begin with it. */
const textual =
  /^text\/|^application\/(json|jsonl|x-ndjson|xml|yaml|toml|javascript|typescript|sql|x-sh)$|\+(json|xml)$/i

/** Base64 of the 256 KiB that are searched of any text. */
const mostBase64 = Math.ceil(262_144 / 3) * 4

/** What an attached file says, if it is text: its beginning, as far as texts are searched. '' for any other. */
export function fileText({ type, mime, data }: MediaBlock): string {
  const kind = mime.split(';', 1)[0]!.trim()
  if (type !== 'file' || data === undefined || !textual.test(kind)) return ''
  const bytes = Buffer.from(data.slice(0, mostBase64), 'base64')
  // As in a stream whose end has not come: a character that the cut has torn is left out.
  return new TextDecoder('utf-8').decode(bytes, { stream: true })
}
