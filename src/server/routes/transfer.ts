import { z } from 'zod'
import { importedSchema } from '../../api/schema/index.ts'
import { exportConversationQuery, exportQuery } from '../../api/schema/request/index.ts'
import { InvalidError } from '../../core/errors.ts'
import { harmless } from '../../core/harmless.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BranchInConversation, Lister } from '../../core/ports.ts'
import type { RecordKind } from '../../core/record.ts'
import { type RecordTally, takeIn } from '../../core/take-in.ts'
import { nativeEncoder } from '../../formats/native/encode.ts'
import { decodeNative, encodeNative } from '../../formats/native/native-file.ts'
import { exportHtml } from '../../formats/page/export-html.ts'
import { exportMarkdown } from '../../formats/page/export-markdown.ts'
import { readExportedConversation } from '../../formats/page/exported-conversation.ts'
import { isTurnUsedUp, nextTurn } from '../../system/event-loop-turns.ts'
import { version } from '../../system/version.ts'
import { HttpError } from '../http/http-error.ts'
import { checkMediaType } from '../http/read-json.ts'
import { type Caller, json, type Route, route } from '../http/route.ts'
import { streamed } from '../http/stream.ts'
import type { RouteContext } from './route-context.ts'

const tag = 'Export and import'
const mediaType = 'application/x-ndjson'

/** The media types that lines of JSON are sent with. */
const lineTypes = /^(application\/(x-ndjson|ndjson|jsonl|x-jsonlines|json|octet-stream)|text\/plain)$/i

/** Most bad lines and notes that an import returns. */
const mostRemarks = 1_000

/** Native lines, streamed in both directions, and texts to read. */
export function transferRoutes({ now, limits }: RouteContext): readonly Route[] {
  const by = `skein ${version()}`
  const responses = { 200: { description: 'Lines of the native format', mediaType } }
  const headers = (name: string) => ({
    'content-type': `${mediaType}; charset=utf-8`,
    'content-disposition': `attachment; filename="${name}.jsonl"`,
    'cache-control': 'no-store',
  })

  return [
    route({
      method: 'get',
      path: '/conversations/{id}/export',
      operation: 'exportConversation',
      scope: 'read',
      tag,
      summary: 'Export a conversation without loss, or as a text to read',
      description:
        '`native` has everything, for an import. `markdown` has the active branch, or all of them. `html` is ' +
        'one page with all branches, which needs no network. All are streamed.',
      params: z.strictObject({ id: z.string().describe('full id of a conversation') }),
      query: exportConversationQuery,
      responses: {
        200: { description: 'Lines of the native format, Markdown, or a page of HTML', mediaType },
      },
      async handle({ params, query: { format = 'native', branch, all }, caller: { store }, cutOff }) {
        const id = conversationId(params.id, 'id')
        if (format === 'native' && (branch !== undefined || all !== undefined))
          throw new InvalidError('format', 'native has all branches: leave out branch and all')
        if (format !== 'native') {
          const conversation = await store.getConversation(id)
          const name = branch ?? conversation.activeBranch
          const at = { conversation, branch: await store.getBranch({ conversationId: id, name }) }
          const text = textOf(store, at, format, all === 'true')
          return streamed(text, { headers: { ...headers(id), ...pageHeaders(id, format) }, cutOff })
        }
        await store.versionOf(id)
        const lines = encodeNative(store, [id], { writtenAt: new Date(now()), by })
        return streamed(lines, { headers: headers(id), cutOff })
      },
    }),
    route({
      method: 'get',
      path: '/export',
      operation: 'exportAll',
      scope: 'read',
      tag,
      summary: 'Export all conversations of the tenant without loss',
      query: exportQuery,
      responses,
      handle: ({ caller: { store }, cutOff }) =>
        streamed(allLines(store, now(), by), { headers: headers('conversations'), cutOff }),
    }),
    route({
      method: 'post',
      path: '/import',
      operation: 'importRecords',
      scope: 'admin',
      tag,
      summary: 'Import native lines',
      description:
        'The body is read while it arrives, in any length; one record may have 32 MiB. Known records stay ' +
        'unchanged, so a repeated import has no effect. Damaged lines are skipped and reported.',
      rawBody: mediaType,
      responses: { 200: { description: 'What was imported', schema: importedSchema } },
      async handle({ request, caller: { store } }) {
        if (!request.body) throw new InvalidError('body', 'is empty')
        checkMediaType(request, lineTypes, mediaType)
        return json(await importLines(store, checkedLines(request.body, limits.bodyBytes), request.signal))
      },
    }),
  ]
}

/** A conversation as Markdown or HTML, piece by piece. */
async function* textOf(
  store: Caller['store'],
  at: BranchInConversation,
  format: 'markdown' | 'html',
  all: boolean,
): AsyncGenerator<string> {
  const exported = await readExportedConversation(store, { ...at, message: null })
  if (format === 'html') yield* exportHtml(exported)
  else yield* exportMarkdown(exported, all ? exported.lines : exported.lines.slice(0, 1), harmless)
}

/** A page is a download. Where a browser shows it anyway, it can do nothing to the service. */
function pageHeaders(id: string, format: 'markdown' | 'html'): Record<string, string> {
  const [type, ending] = format === 'html' ? ['text/html', 'html'] : ['text/markdown', 'md']
  return {
    'content-type': `${type}; charset=utf-8`,
    'content-disposition': `attachment; filename="${id}.${ending}"`,
    'content-security-policy':
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:",
  }
}

async function* allLines(store: Caller['store'], now: number, by: string): AsyncGenerator<string> {
  const encoder = nativeEncoder()
  yield `${encoder.header(now, by)}\n`
  for await (const id of allIds(store)) {
    for await (const record of store.readRecords(id)) yield* encoder.text(record)
  }
  yield `${encoder.end()}\n`
}

/** Conversations outside the trash, then those in it. */
async function* allIds(store: Lister): AsyncGenerator<ConversationId> {
  for (const trashed of [false, true]) {
    const list = itemsOf(page =>
      store.listConversations({ ...(trashed && { trashed }), limit: 1_000, ...page }),
    )
    for await (const { id } of list) yield id
  }
}

/** Refuses a line that is longer than the limit before it fills the memory. */
async function* checkedLines(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const chunk of chunks) {
    if (isTurnUsedUp()) await nextTurn()
    for (let start = 0; start <= chunk.byteLength; ) {
      const end = chunk.indexOf(0x0a, start)
      length += (end === -1 ? chunk.byteLength : end) - start
      if (length > most) {
        const message = `a record has more than ${most} bytes`
        throw new HttpError('too_large', message, { members: { limit: most } })
      }
      if (end === -1) break
      length = 0
      start = end + 1
    }
    yield chunk
  }
}

async function importLines(store: Caller['store'], chunks: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  const badLines: { line: number; reason: string }[] = []
  const notes: { line: number; note: string }[] = []
  let bad = 0
  const addBad = (line: number, reason: string) => {
    bad++
    if (badLines.length < mostRemarks) badLines.push({ line, reason })
  }
  const addNote = (line: number, note: string) => {
    if (notes.length < mostRemarks) notes.push({ line, note })
  }
  const records = decodeNative(chunks, {
    onProblem: problem => {
      if (problem.type === 'fault') addBad(problem.line, problem.reason)
      else addNote(problem.line, problem.text)
    },
  })
  const tally = await takeIn(store, records, {
    signal,
    onSpecial: ({ line }, outcome) => {
      if (outcome.outcome === 'refused') addBad(line, outcome.reason)
      else if (outcome.note !== null) addNote(line, outcome.note)
    },
  })
  return { ...talliesOf(tally), bad, bad_lines: badLines, notes }
}

const kinds: Readonly<Record<RecordKind, true>> = {
  conversation: true,
  message: true,
  tombstone: true,
  blob: true,
  turn: true,
  draft: true,
  summary: true,
  event: true,
  branch: true,
  agent_link: true,
  task: true,
}

function talliesOf(tally: RecordTally) {
  const counted = (amounts: RecordTally['added']) =>
    Object.fromEntries((Object.keys(kinds) as RecordKind[]).map(kind => [kind, amounts[kind] ?? 0]))
  return {
    added: counted(tally.added),
    present: counted(tally.present),
    advanced: counted(tally.advanced),
    refused: counted(tally.refused),
  }
}
