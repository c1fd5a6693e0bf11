import { InvalidError } from '../../core/errors.ts'
import { typeName } from '../../core/json.ts'

/** Which store a text names: a file or `:memory:`, or a server. */
export type StoreTarget =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'postgres'; readonly url: string }

const usable = 'use a file, :memory:, or a file:, sqlite: or postgres:// URL'

/** Reads the name of a store: a path, `:memory:`, or a URL whose scheme is `file`, `sqlite`, `postgres` or
 *  `postgresql`, in upper or lower case. Throws InvalidError for any other URL: used as a path, a misspelt
 *  URL would create a file whose name contains a password. The error does not quote the text for the same
 *  reason. A path whose first part contains a colon is written with a folder: `./a:b`. */
export function parseTarget(target: string, field = 'target'): StoreTarget {
  if ((target ?? '') === '') throw new InvalidError(field, `is empty: ${usable}`)
  if (typeof target !== 'string') throw new InvalidError(field, `must be text, got ${typeName(target)}`)
  if (target.trim() === '') throw new InvalidError(field, `is empty: ${usable}`)
  if (target.trim() !== target)
    throw new InvalidError(field, `has a blank at its beginning or end: ${usable}`)
  if (target.includes('\0')) throw new InvalidError(field, 'contains a NUL character')
  if (target === ':memory:') return { engine: 'sqlite', path: target }
  if (process.platform === 'win32' && /^[a-z]:[\\/]/i.test(target)) return { engine: 'sqlite', path: target }
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(target) ?? []
  switch (scheme?.toLowerCase()) {
    case undefined:
      // A name and a password before a host, as in a URL without its scheme.
      if (!/^(\/\/)?[^/\\]*:[^/\\]*@|^:/.test(target)) return { engine: 'sqlite', path: target }
      throw new InvalidError(field, `is neither a URL nor a usable file name: ${usable}`)
    case 'postgres':
    case 'postgresql':
      if (rest.startsWith('//')) return { engine: 'postgres', url: serverUrl(`${scheme}:${rest}`, field) }
      throw new InvalidError(field, 'is not a PostgreSQL URL: write postgres://user@host/database')
    case 'file':
    case 'sqlite':
      return { engine: 'sqlite', path: urlPath(rest, field) }
    default:
      throw new InvalidError(
        field,
        `unknown URL scheme ${JSON.stringify(`${scheme!.slice(0, 20)}:`)}: ${usable}. For a file name with a colon: ./name`,
      )
  }
}

/** Refuses URLs that pg would read in another way than they are meant: an unencoded `/`, `#` or `?` in a
 *  password ends the host early, and the rest of the password would become the name of the database. */
function serverUrl(target: string, field: string): string {
  const url = URL.canParse(target) ? new URL(target) : null
  if (!url || /@/.test(url.pathname + url.hash) || /^\?[^=&]*@/.test(url.search)) {
    throw new InvalidError(
      field,
      'is not a valid PostgreSQL URL. Percent-encode special characters in the password: / is %2F, # is %23, ? is %3F',
    )
  }
  return target.replace(/^\w+/, scheme => scheme.toLowerCase())
}

/** The path in a `file:` or `sqlite:` URL. `file:a.db` is relative, as in SQLite's own URLs. Does not use
 *  `node:url`, whose loading would slow down every command. */
function urlPath(rest: string, field: string): string {
  if (rest === ':memory:') return rest
  if (/[?#]/.test(rest)) throw new InvalidError(field, 'has parameters: a file URL is a path only')
  try {
    const path = rest.startsWith('/') ? absolutePath(new URL(`file:${rest}`)) : decodeURIComponent(rest)
    if (path !== null && path !== '' && !path.includes('\0')) return path
  } catch {
    // Reported below: the errors of Node quote the URL.
  }
  throw new InvalidError(field, 'is not a valid file URL: write file:///folder/name or file:name')
}

/** Null if the URL names a host, or if its path has an encoded separator. */
function absolutePath({ host, pathname }: URL): string | null {
  if (host !== '' || /%2f|%5c/i.test(pathname)) return null
  const path = decodeURIComponent(pathname)
  return process.platform === 'win32' ? path.slice(1) : path
}
