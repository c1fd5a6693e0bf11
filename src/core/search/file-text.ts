import type { MediaBlock } from '../block.ts'

/** MIME types of text whose name does not begin with `text/`. */
const textual =
  /^text\/|^application\/(json|jsonl|x-ndjson|xml|yaml|toml|javascript|typescript|sql|x-sh)$|\+(json|xml)$/i

/** The base64 length of the 256 KiB that are searched. */
const mostBase64 = Math.ceil(262_144 / 3) * 4

/** The searched beginning of an attached text file. Empty for any other block. */
export function fileText({ type, mime, data }: MediaBlock): string {
  const kind = mime.split(';', 1)[0]!.trim()
  if (type !== 'file' || data === undefined || !textual.test(kind)) return ''
  const bytes = Buffer.from(data.slice(0, mostBase64), 'base64')
  // As for a stream that continues: a character that was cut is left out.
  return new TextDecoder('utf-8').decode(bytes, { stream: true })
}
