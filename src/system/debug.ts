import { type Channel, channel } from 'node:diagnostics_channel'
import { SkeinError } from '../core/errors.ts'

/** Statements that an engine ran in one call: one on SQLite, one round trip on PostgreSQL. */
export interface StatementTrace {
  readonly engine: 'sqlite' | 'postgres'
  /** Their names in the driver, such as `lockBranch`. Never their parameters, which hold stored text. */
  readonly statements: readonly string[]
  /** Rows that were read or written. */
  readonly rows: number
  readonly ms: number
  readonly error?: unknown
}

/** A call that failed and is made again. */
export interface RetryTrace {
  /** `lock`: another process has the SQLite file, or a conversation on PostgreSQL. `race`: PostgreSQL undid
   *  the transaction. `write`: a turn's writes wait because the store fails. `model`: the provider is busy or
   *  broken. */
  readonly what: 'lock' | 'race' | 'write' | 'model'
  /** The number of the attempt that failed, from 1. Of `lock` on SQLite, only attempts 1, 8, 64 … are
   *  published. */
  readonly attempt: number
  readonly pauseMs: number
  readonly error: unknown
  /** Writes that wait, if `what` is `write`. */
  readonly waiting?: number
}

/** One call of a model, from the request to the end of the answer. */
export interface ModelTrace {
  readonly model: string
  readonly messages: number
  /** Tokens as counted before the call. */
  readonly tokens: number
  readonly ms: number
  readonly usage?: { readonly input?: number; readonly output?: number }
  readonly error?: unknown
}

/** A channel whose messages have a type. Check `hasSubscribers` before building a message: it is the only
 *  cost while no program listens. */
interface DebugChannel<Message> extends Channel {
  publish(message: Message): void
}

const printers = {
  statement: ({ engine, statements, rows, ms, error }: StatementTrace) =>
    `${time(ms)} ${engine} ${statements.join(', ')} · ${plural(rows, 'row')}${problem(error)}`,
  retry: ({ what, attempt, pauseMs, error, waiting }: RetryTrace) =>
    `${what}, attempt ${attempt}, again in ${time(pauseMs)}${waiting === undefined ? '' : ` · ${waiting} waiting`}${problem(error)}`,
  model: ({ model, messages, tokens, ms, usage, error }: ModelTrace) =>
    `${time(ms)} ${model} · ${plural(messages, 'message')}, ${plural(tokens, 'token')} counted${spent(usage)}${problem(error)}`,
}

let isPrinting = false

/** Statements and transactions: `skein:statement`. */
export const statementChannel = /* @__PURE__ */ debugChannel<StatementTrace>('statement')

/** Retries: `skein:retry`. */
export const retryChannel = /* @__PURE__ */ debugChannel<RetryTrace>('retry')

/** Model calls: `skein:model`. */
export const modelChannel = /* @__PURE__ */ debugChannel<ModelTrace>('model')

/** A channel of the library. The first one starts the lines that `SKEIN_DEBUG` asks for: a bundler can leave
 *  out a file that does nothing else when it is loaded. */
function debugChannel<Message>(name: keyof typeof printers): DebugChannel<Message> {
  const list = process.env.SKEIN_DEBUG
  if (list && !isPrinting) {
    isPrinting = true
    printDebug(list, line => process.stderr.write(`${line}\n`))
  }
  return channel(`skein:${name}`)
}

/** Prints the channels that a list names, `statement,retry` or `*` for all, one line for each message.
 *  Returns a function that stops it. Unknown names are reported. */
export function printDebug(list: string, print: (line: string) => void): () => void {
  const names = list.split(',').map(name => name.trim().replace(/^skein:/, ''))
  const isAll = names.some(name => ['*', '1', 'true', 'all'].includes(name))
  const known = Object.keys(printers) as (keyof typeof printers)[]
  const unknown = names.filter(name => !isAll && !(name in printers))
  if (unknown.length > 0)
    print(`skein: SKEIN_DEBUG has no ${unknown.join(', ')}; there are ${known.join(', ')}`)
  const stops = known
    .filter(name => isAll || names.includes(name))
    .map(name => {
      const printer = printers[name] as (message: unknown) => string
      const listener = (message: unknown) => print(`skein:${name} ${printer(message)}`)
      const source = channel(`skein:${name}`)
      source.subscribe(listener)
      return () => void source.unsubscribe(listener)
    })
  return () => {
    for (const stop of stops) stop()
  }
}

function plural(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

function time(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`
}

function spent(usage: ModelTrace['usage']): string {
  return usage ? ` · ${usage.input ?? '?'} in, ${usage.output ?? '?'} out` : ''
}

/** The code of an error. Only our own messages are printed: those of an engine may quote a stored value. */
function problem(error: unknown): string {
  if (error === undefined) return ''
  if (error instanceof SkeinError) return ` · ${error.code}: ${error.message}`
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  return ` · ${code ?? name ?? 'an error'}`
}
