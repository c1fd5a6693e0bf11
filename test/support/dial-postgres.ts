import { connect, type Socket } from 'node:net'

/** Opens a socket to the server of a URL: its Unix socket, or its host and port. */
export function dialPostgres(url: string): Socket {
  const { searchParams, hostname, port } = new URL(url)
  const place = searchParams.get('host')
  return place?.startsWith('/')
    ? connect(`${place}/.s.PGSQL.${searchParams.get('port') ?? (port || 5432)}`)
    : connect(Number(port || 5432), place ?? hostname)
}

/** The same database and login through a proxy on a loopback port. */
export function throughPort(url: string, port: number): string {
  const { username, password, pathname } = new URL(url)
  const login = password === '' ? username : `${username}:${password}`
  return `postgresql://${login}@127.0.0.1:${port}${pathname}`
}
