import type { MediaBlock } from '../core/block.ts'
import { outputText } from '../core/gist.ts'
import type { SearchHit } from '../core/listing.ts'
import { fileText } from '../core/search/file-text.ts'
import type { JsonOf, searchHitSchema } from './schema/index.ts'

/** A search hit as JSON. */
export type SearchHitJson = JsonOf<typeof searchHitSchema>

/** Maps a search hit to JSON. */
export function searchHitJson(hit: SearchHit): SearchHitJson {
  const { message, conversation, branches, snippet } = hit
  return {
    message: message.id,
    conversation: conversation.id,
    branch: branches[0] ?? null,
    title: conversation.title,
    role: message.role,
    kind: hitKind(hit),
    created_at: message.createdAt.toISOString(),
    snippet: snippet.text,
    marks: snippet.marks.map(({ start, end }) => [start, end] as const),
    directory: conversation.directory,
  }
}

/** The type of the block that matched. */
export type HitKind = 'text' | 'thinking' | 'tool_call' | 'tool_result' | 'file'

/** The type of the block that contains the snippet. Default: by role. */
export function hitKind({ message, snippet }: SearchHit): HitKind {
  const suggested = message.role === 'tool_result' ? 'tool_result' : 'text'
  const said = message.content.flatMap(block => saidIn(block) ?? [])
  if (said.every(({ kind }) => kind === suggested)) return suggested
  const shown = snippet.text.replace(/^…|…$/g, '')
  // Usually the snippet is found literally, except for white space.
  const asShown = said.find(({ text }) => text.slice(0, mostRead).replace(/\s+/g, ' ').includes(shown))
  if (asShown) return asShown.kind
  const words = bare(shown)
  return said.find(({ text }) => bare(text).includes(words))?.kind ?? suggested
}

/** How much of a block is searched. */
const mostRead = 200_000

function saidIn(block: SearchHit['message']['content'][number]): { kind: HitKind; text: string } | null {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return { kind: block.type, text: String(block.text) }
    case 'tool_call':
      return { kind: 'tool_call', text: `${block.name} ${JSON.stringify(block.input)}` }
    case 'tool_result':
      return { kind: 'tool_result', text: outputText((block.output ?? null) as never) }
    case 'file': {
      const file = block as MediaBlock
      return { kind: 'file', text: `${file.name ?? ''} ${file.url ?? ''} ${fileText(file)}` }
    }
    default:
      return null
  }
}

/** Letters and digits only: a snippet writes escapes and white space differently. */
function bare(text: string): string {
  return text.slice(0, mostRead).replace(/[^\p{L}\p{N}]+/gu, '')
}
