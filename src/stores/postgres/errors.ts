import {
  CorruptError,
  InvalidError,
  OutcomeUnknownError,
  ReadOnlyError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'

/** Translates an error of pg into one of ours. Unknown errors are returned unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof SkeinError || !(error instanceof Error)) return error
  const options = { cause: error }
  const state = stateOf(error)
  if (isBroken(error)) {
    return new UnavailableError(`PostgreSQL cannot be reached: ${error.message}`, options)
  }
  switch (state) {
    case '53100': // disk_full
      return new StorageFullError('the database server has no space left: nothing was written', options)
    case '25006': // read_only_sql_transaction
      return new ReadOnlyError('the store can be read but not written', options)
    case 'XX001': // data_corrupted
    case 'XX002': // index_corrupted
      return new CorruptError(`the database is damaged: ${error.message}`, options)
    case '55P03': // lock_not_available
    case '57014': // query_canceled, by a time limit
      return new UnavailableError('the store took too long to answer', options)
    case '22003': // numeric_value_out_of_range
    case '22021': // character_not_in_repertoire
    case '22P02': // invalid_text_representation
    case '22P05': // untranslatable_character
      return new InvalidError('value', error.message)
    default:
      return error
  }
}

/** Translates an error that came after a commit was sent: its outcome may be unknown. */
export function translateCommit(error: unknown): unknown {
  if (!(error instanceof Error) || !isBroken(error)) return translate(error)
  return new OutcomeUnknownError('the connection broke after the commit was sent', { cause: error })
}

/** Whether the whole transaction may be run again: after a deadlock, or after a lost race for a unique key,
 *  whose winner the second run sees. */
export function isLostRace(error: unknown): boolean {
  const state = stateOf(error)
  return state === '40001' || state === '40P01' || state === '23505'
}

/** Whether the connection is broken, or was never established. */
export function isBroken(error: unknown): boolean {
  if (error instanceof SkeinError) return false
  const state = stateOf(error)
  // An error without SQLSTATE comes from the network, or from pg about the network.
  if (state === null) return isOfNetwork(error)
  // Class 08: connection errors. 57P0x: the server ends connections. 53300: too many connections.
  return state.startsWith('08') || /^57P0[1-5]$/.test(state) || state === '53300'
}

/** The SQLSTATE that pg sets on a server's error. */
export function stateOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as Error)
    ? code
    : null
}

const networkCodes = /^(ECONN|EPIPE|ENOENT$|ENOTFOUND$|ETIMEDOUT$|EHOST|ENET|EAI_|ERR_SSL|ERR_TLS)/
const networkWords =
  /Connection terminated|connection error and is not queryable|Client was closed|timeout exceeded when trying to connect|Cannot use a pool after calling end|Query read timeout|SSL connection/

function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return networkCodes.test(code) || networkWords.test(error.message)
}
