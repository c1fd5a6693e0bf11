import type { Section } from './section.ts'
import { address, oneOf, positive, type Reader } from './values.ts'

/** The levels of `--log-level` and `server.log_level`. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** How much the service logs. */
export type LogLevel = (typeof logLevels)[number]

/** Where a service listens. */
export interface ListenAddress {
  /** An address of an interface, without brackets. */
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
}

/** The section `server`: the HTTP service of `skein serve`. */
export interface ServerSettings {
  /** The interface and the port. */
  readonly listen: ListenAddress
  /** The address under which clients know the service. Null: it answers for loopback names only. */
  readonly publicUrl: string | null
  /** Further host names for which it answers. */
  readonly hosts: readonly string[]
  /** Most turns that run at the same time. */
  readonly maxTurns: number
  readonly logLevel: LogLevel
}

export const serverDefaults: ServerSettings = {
  listen: { host: '127.0.0.1', port: 4717 },
  publicUrl: null,
  hosts: [],
  maxTurns: 20,
  logLevel: 'warn',
}

/** `127.0.0.1`, `0.0.0.0:8080`, `[::1]:4717`, `:8080`. */
export const listenAddress: Reader<ListenAddress> = value => {
  const text = typeof value === 'number' ? `:${value}` : value
  const [whole, bracketed, plain, digits] =
    typeof text === 'string'
      ? (/^(?:\[([0-9a-f:.]+)\]|([\w.-]*))(?::(\d{1,5}))?$/i.exec(text.trim()) ?? [])
      : []
  const port = digits === undefined ? serverDefaults.listen.port : Number(digits)
  if (!whole || port > 65_535)
    return new Error('is not an address, such as 127.0.0.1:4717, 0.0.0.0 or [::1]:8080')
  return { host: bracketed || plain || serverDefaults.listen.host, port }
}

/** Adds the section `server` of a file to the settings of the files before. */
export function readServer(section: Section | null, before: ServerSettings): ServerSettings {
  section?.only('listen', 'public_url', 'hosts', 'max_turns', 'log_level')
  return {
    listen: section?.value('listen', listenAddress, '127.0.0.1:4717') ?? before.listen,
    publicUrl: section?.value('public_url', address, 'none') ?? before.publicUrl,
    hosts: section?.has('hosts') ? section.list('hosts') : before.hosts,
    maxTurns: section?.value('max_turns', positive, String(serverDefaults.maxTurns)) ?? before.maxTurns,
    logLevel: section?.value('log_level', oneOf(...logLevels), serverDefaults.logLevel) ?? before.logLevel,
  }
}
