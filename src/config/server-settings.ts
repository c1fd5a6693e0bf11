import type { Section } from './section.ts'
import {
  onlyDeclared,
  readSetting,
  type SectionDeclaration,
  structuredSetting,
  valueSetting,
} from './setting.ts'
import { address, oneOf, positive, type Reader, readerOf } from './values.ts'

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
export const listenAddress: Reader<ListenAddress> = readerOf('an address, such as `0.0.0.0:8080`', value => {
  const text = typeof value === 'number' ? `:${value}` : value
  const [whole, bracketed, plain, digits] =
    typeof text === 'string'
      ? (/^(?:\[([0-9a-f:.]+)\]|([\w.-]*))(?::(\d{1,5}))?$/i.exec(text.trim()) ?? [])
      : []
  const port = digits === undefined ? serverDefaults.listen.port : Number(digits)
  if (!whole || port > 65_535)
    return new Error('is not an address, such as 127.0.0.1:4717, 0.0.0.0 or [::1]:8080')
  return { host: bracketed || plain || serverDefaults.listen.host, port }
})

const serverFileSettings = {
  listen: valueSetting(
    listenAddress,
    '127.0.0.1:4717',
    'The interface and the port. Addresses other than loopback also need `public_url`.',
  ),
  public_url: valueSetting(
    address,
    'none',
    'The address under which clients know the service. Requests for other hosts are refused.',
  ),
  hosts: structuredSetting('a list of host names', 'none', 'Further hosts that the service answers for.'),
  max_turns: valueSetting(positive, String(serverDefaults.maxTurns), 'Most turns that run at the same time.'),
  log_level: valueSetting(
    oneOf(...logLevels),
    serverDefaults.logLevel,
    'How much is logged. Logs never have the contents of messages. `--log-level` overrides it.',
  ),
}

/** The section `server`. */
export const serverSection: SectionDeclaration = {
  path: 'server',
  about: 'The HTTP service of `skein serve`.',
  settings: serverFileSettings,
  example: `server:
  listen: 0.0.0.0:4717
  public_url: https://skein.example.org
  hosts: [skein.internal]
  max_turns: 20
  log_level: info`,
}

/** Adds the section `server` of a file to the settings of the files before. */
export function readServer(section: Section | null, before: ServerSettings): ServerSettings {
  if (section) onlyDeclared(section, serverSection)
  const settings = serverFileSettings
  return {
    listen: readSetting(section, 'listen', settings.listen) ?? before.listen,
    publicUrl: readSetting(section, 'public_url', settings.public_url) ?? before.publicUrl,
    hosts: section?.has('hosts') ? section.list('hosts') : before.hosts,
    maxTurns: readSetting(section, 'max_turns', settings.max_turns) ?? before.maxTurns,
    logLevel: readSetting(section, 'log_level', settings.log_level) ?? before.logLevel,
  }
}
