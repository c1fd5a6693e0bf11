import { HttpError } from './http-error.ts'

/** The names under which the service may be addressed. */
export interface KnownNames {
  /** Host names without a port, in lower case. */
  readonly names: ReadonlySet<string>
  /** The origin of `public_url`, or null. */
  readonly origin: string | null
}

const loopback = ['localhost', '127.0.0.1', '[::1]'] as const

/** The names of the service: loopback, the host of its public URL, and further ones. */
export function knownNames(publicUrl: string | undefined, hosts: readonly string[] = []): KnownNames {
  const url = publicUrl === undefined ? null : new URL(publicUrl)
  const names = new Set<string>([...loopback, ...hosts.map(host => host.toLowerCase())])
  if (url) names.add(url.hostname)
  return { names, origin: url?.origin ?? null }
}

/** Refuses a request that names another host with 421: a page that lets its own name resolve to this machine
 *  cannot call the service (DNS rebinding). Refuses requests of other origins with 403. */
export function checkAddress({ headers, url }: Request, known: KnownNames): void {
  const host = (headers.get('host') ?? new URL(url).host).toLowerCase()
  const name = host.replace(/:\d+$/, '')
  if (!known.names.has(name)) {
    throw new HttpError('unknown_host', 'the service does not answer for this host', {
      hint: 'Name the host in server.public_url or server.hosts of skein.yaml.',
    })
  }
  const origin = headers.get('origin')
  if (origin === null || origin === known.origin || hostOf(origin) === host) return
  throw new HttpError('foreign_origin', 'the service does not answer pages of another origin')
}

/** Host and port of an origin. Null for `null` and for everything that is not an origin. */
function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host
  } catch {
    return null
  }
}
