import {
  CorruptError,
  InvalidError,
  MisconfiguredError,
  OutcomeUnknownError,
  ReadOnlyError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'

/** Translates an error of pg into one of ours. Errors that come from neither the server nor the network are
 *  returned unchanged. No message of the server contains a password. */
export function translate(error: unknown): unknown {
  if (error instanceof SkeinError || !(error instanceof Error)) return error
  if (isBroken(error)) return unreachable(error)
  // pg checks the password itself before it sends it.
  if (/^SASL: .*password/.test(error.message)) return refusedLogin(error)
  const state = stateOf(error)
  return state === null ? error : translateState(error, state)
}

function translateState(cause: Error, state: string): SkeinError {
  const { message } = cause
  switch (state) {
    case '28000': // invalid_authorization_specification
    case '28P01': // invalid_password
      return refusedLogin(cause)
    case '3D000': // invalid_catalog_name
      return new MisconfiguredError('database', message, {
        cause,
        hint: `Create it: createdb ${named(message)}`,
      })
    case '42501': // insufficient_privilege
      return new MisconfiguredError('permission', message, { cause, hint: rightsHint })
    case '26000': // invalid_sql_statement_name
    case '42P05': // duplicate_prepared_statement
    case '25P02': // in_failed_sql_transaction
      return new MisconfiguredError('pooler', `a connection pooler mixes up the connections: ${message}`, {
        cause,
        hint: poolerHint,
      })
    case '3F000': // invalid_schema_name
    case '42P01': // undefined_table
    case '42703': // undefined_column
    case '42P07': // duplicate_table
    case '42P06': // duplicate_schema
      return new MisconfiguredError('tables', `the tables in the schema skein are not Skein's: ${message}`, {
        cause,
        hint: 'Restore the schema skein from a backup, or use another database',
      })
    case '53100': // disk_full
      return new StorageFullError('the disk of the database server is full', {
        cause,
        hint: 'Nothing was written. Free some space on the server',
      })
    case '25006': // read_only_sql_transaction
      return new ReadOnlyError('the database is read-only', {
        cause,
        hint: 'Connect to the primary server. A standby can only be read',
      })
    case 'XX001': // data_corrupted
    case 'XX002': // index_corrupted
      return new CorruptError(`the database is damaged: ${message}`, {
        cause,
        hint: 'Restore the database from a backup',
      })
    case '55P03': // lock_not_available
    case '57014': // query_canceled, by a time limit
      return new UnavailableError('the store took too long to answer', { cause, hint: retryHint })
    case '22P02': // invalid_text_representation
      return /\bjsonb?\b/.test(message)
        ? // Our parameters are valid JSON. The name of a type is the same in every language.
          new CorruptError(`stored JSON cannot be read: ${message}`, { cause, hint: 'skein verify' })
        : new InvalidError('value', message)
    case '22003': // numeric_value_out_of_range
    case '22021': // character_not_in_repertoire
    case '22P05': // untranslatable_character
    case '54000': // program_limit_exceeded
      return new InvalidError('value', message)
    default:
      // Class 23: a constraint that our own statements never break. 23505 is a race that was lost too often.
      return state.startsWith('23') && state !== '23505'
        ? new CorruptError(`the database has contradictory rows: ${message}`, { cause, hint: 'skein verify' })
        : new UnavailableError(`PostgreSQL failed: ${message} (${state})`, { cause, hint: retryHint })
  }
}

const retryHint = 'Try again, or: skein doctor'

const rightsHint =
  'Let the owner of the database run skein migrate once. Then: GRANT USAGE ON SCHEMA skein TO the role, ' +
  'and GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA skein TO it'

const poolerHint = 'Use the pooler in transaction or session mode, or connect to the server directly'

function refusedLogin(cause: Error): MisconfiguredError {
  return new MisconfiguredError('login', `PostgreSQL refused the login: ${cause.message}`, {
    cause,
    hint: 'Check the user and the password in the URL, and pg_hba.conf on the server',
  })
}

/** The first name in quotes. */
function named(message: string): string {
  return /"(.+?)"/.exec(message)?.[1] ?? '<name>'
}

function unreachable(cause: Error): UnavailableError {
  if (/after calling end on the pool/.test(cause.message))
    return new UnavailableError('the store is closed', { cause, hint: 'Open it again' })
  const code = 'code' in cause ? String(cause.code) : ''
  // Node tries all addresses of a host and reports them together, with an empty message.
  const why = cause.message || (cause instanceof AggregateError ? String(cause.errors[0]?.message) : code)
  const hint =
    code === 'ENOTFOUND' || code.startsWith('EAI_')
      ? 'Check the host in the URL. Then: skein doctor'
      : code === 'ECONNREFUSED' || code === 'ENOENT'
        ? 'Is the server running? Check the host and the port. Then: skein doctor'
        : retryHint
  return new UnavailableError(`PostgreSQL cannot be reached: ${why}`, { cause, hint })
}

/** Translates an error that came after a commit was sent: its outcome may be unknown. */
export function translateCommit(error: unknown): unknown {
  if (!(error instanceof Error) || !isBroken(error)) return translate(error)
  return new OutcomeUnknownError('the connection broke after the commit was sent', {
    cause: error,
    hint: 'Try again with the same turn key',
  })
}

/** Whether the whole transaction may be run again: after a deadlock, or after a lost race for a unique key,
 *  whose winner the second run sees. */
export function isLostRace(error: unknown): boolean {
  const state = stateOf(error)
  return state === '40001' || state === '40P01' || state === '23505'
}

/** Whether a transaction has waited for a lock as long as it may. */
export function isLockTimeout(error: unknown): boolean {
  return stateOf(error) === '55P03'
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

/** Whether a prepared statement is not where we expect it: behind a pooler, the next transaction may run on
 *  another connection of the server. Nothing was written. */
export function isMisplaced(error: unknown): boolean {
  return ['26000', '42P05'].includes(stateOf(error) ?? '')
}

/** Whether the connection is in the failed transaction of another client. */
export function isOfOther(error: unknown): boolean {
  return stateOf(error) === '25P02'
}

/** Whether the server of the connection cannot write. After a fail-over it may have become a standby, and a
 *  new connection reaches the primary. */
export function isOfStandby(error: unknown): boolean {
  return error instanceof ReadOnlyError || stateOf(error) === '25006'
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
