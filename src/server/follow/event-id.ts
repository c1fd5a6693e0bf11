import { InvalidError } from '../../core/errors.ts'
import { type ConversationId, conversationId } from '../../core/ids.ts'

/** Where a stream of events is: the id of its last event. A client that reconnects sends it back, so any
 *  process can continue. */
export interface StreamPosition {
  /** The cursor of the last activity, or the time at which the stream began. */
  readonly activity: string | Date
  /** The cursor of the last change of a task, or null before the first one. */
  readonly tasks: string | null
  /** The cursor of each followed conversation. */
  readonly cursors: ReadonlyMap<ConversationId, string>
}

/** Cursors are base64url, so they contain none of the separators. */
export function writeEventId({ activity, tasks, cursors }: StreamPosition): string {
  const first = typeof activity === 'string' ? activity : `@${activity.getTime()}`
  const second = tasks === null ? [] : [`~${tasks}`]
  return [first, ...second, ...[...cursors].map(([id, cursor]) => `${id}:${cursor}`)].join('.')
}

/** Throws InvalidError of the field `after` if the text does not have the form of an event id. The cursors in
 *  it belong to the store, which refuses wrong ones in the same way. */
export function readEventId(text: string): StreamPosition {
  const [first = '', ...others] = text.split('.')
  if (!/^(@\d{1,15}|[\w-]+)$/.test(first)) throw notAnId()
  const activity = first.startsWith('@') ? new Date(Number(first.slice(1))) : first
  const tasks = others[0]?.startsWith('~') ? others.shift()!.slice(1) : null
  if (tasks !== null && !/^[\w-]+$/.test(tasks)) throw notAnId()
  const cursors = others.map((part): [ConversationId, string] => {
    const [, id, cursor] = /^([0-9a-f-]{36}):([\w-]+)$/.exec(part) ?? []
    if (id === undefined || cursor === undefined) throw notAnId()
    return [conversationId(id, 'after'), cursor]
  })
  return { activity, tasks, cursors: new Map(cursors) }
}

/** The refusal of an event id, with the name under which the client has sent it. */
export function notAnId(field: 'Last-Event-ID' | 'after' = 'after'): InvalidError {
  const hint = `Connect without ${field} to follow from now on.`
  return new InvalidError(field, 'is not the id of an event of this stream', null, hint)
}
