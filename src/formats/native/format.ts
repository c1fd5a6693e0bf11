// `formats` turns records into text and back, without I/O. `native/` is our own format
// (docs/native-format.md): this file has its constants and fields; `encode.ts` writes lines, `split-lines.ts`
// and `decode.ts` read them, including damaged ones. May import core only.

import type { RecordKind } from '../../core/record.ts'

/** The name at the start of a file of the native format, and the version that we write. A reader accepts
 *  every minor version of its major version and ignores additions of newer ones. Specified in
 *  `docs/native-format.md`. */
export const nativeFormat = 'skein'
export const nativeVersion = { major: 1, minor: 1 } as const

/** The longest accepted line, in bytes. */
export const longestLine = 268_435_456

/** The largest accepted blob, in bytes: three for each UTF-16 unit of the longest string. */
export const largestBlob = 402_653_184

/** Larger blobs are split into several lines, so that two copies of a line fit into memory. */
export const blobPartBytes = 4_194_304

/** The number of records of each kind. */
export type RecordCounts = Partial<Readonly<Record<RecordKind, number>>>

/** The first line. */
export interface HeaderLine {
  readonly kind: 'header'
  readonly format: typeof nativeFormat
  /** `1.1` */
  readonly version: string
  /** Milliseconds since 1970. */
  readonly writtenAt: number
  /** The program that wrote it. */
  readonly by: string
}

/** The last line. A file without it was cut off. */
export interface EndLine {
  readonly kind: 'end'
  readonly records: number
  readonly counts: RecordCounts
}

/** The fields of each kind of line, to detect unknown ones. */
export const fieldsOf: Readonly<Record<RecordKind, ReadonlySet<string>>> = {
  conversation: new Set([
    ...[
      'kind',
      'id',
      'conversationKind',
      'title',
      'model',
      'label',
      'channel',
      'directory',
      'project',
      'task',
    ],
    ...['owner', 'parent', 'promptPolicy', 'prompt', 'toolResults', 'metadata', 'tags', 'activeBranch'],
    ...['tokensUsed', 'cost', 'createdAt', 'updatedAt', 'expiresAt', 'ttlMs', 'renewMs', 'trashedAt'],
  ]),
  blob: new Set(['kind', 'hash', 'bytes', 'part', 'parts', 'text', 'base64']),
  message: new Set([
    ...['kind', 'conversationId', 'seq', 'id', 'parentId', 'role', 'at', 'tokens', 'turn', 'step', 'label'],
    ...['bodyHash', 'body', 'erased'],
  ]),
  tombstone: new Set(['kind', 'conversationId', 'seq', 'id', 'parent', 'at', 'reason']),
  turn: new Set([
    ...[
      'kind',
      'conversationId',
      'key',
      'branch',
      'status',
      'first',
      'last',
      'lastStep',
      'model',
      'promptHash',
    ],
    ...['usage', 'holder', 'leaseUntil', 'startedAt', 'endedAt'],
  ]),
  draft: new Set(['kind', 'conversationId', 'turn', 'n', 'type', 'text']),
  summary: new Set([
    ...['kind', 'conversationId', 'first', 'last', 'model', 'tokens', 'text', 'checksum', 'createdAt'],
  ]),
  event: new Set(['kind', 'conversationId', 'n', 'type', 'at', 'data']),
  branch: new Set([
    ...['kind', 'conversationId', 'name', 'head', 'key', 'formerKey', 'trashedKey', 'title', 'createdAt'],
    'updatedAt',
  ]),
  agent_link: new Set([
    ...['kind', 'conversationId', 'branch', 'agent', 'directory', 'foreignId', 'seen', 'updatedAt'],
  ]),
  task: new Set([
    ...[
      'kind',
      'id',
      'project',
      'description',
      'context',
      'parent',
      'metadata',
      'conversationId',
      'dispatches',
    ],
    ...['createdAt', 'updatedAt'],
  ]),
}
