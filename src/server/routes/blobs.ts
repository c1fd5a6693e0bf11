import { z } from 'zod'
import { InvalidError } from '../../core/errors.ts'
import { HttpError } from '../http/http-error.ts'
import { type Route, route } from '../http/route.ts'

/** The beginnings of images that browsers show without running anything in them. SVG is not among them. */
const images: readonly (readonly [type: string, matches: (bytes: Uint8Array) => boolean])[] = [
  ['image/png', bytes => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/jpeg', bytes => startsWith(bytes, [0xff, 0xd8, 0xff])],
  ['image/gif', bytes => startsWith(bytes, [0x47, 0x49, 0x46, 0x38])],
  [
    'image/webp',
    bytes =>
      startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes.subarray(8), [0x57, 0x45, 0x42, 0x50]),
  ],
]

/** Large parts of messages, by their hash. */
export function blobRoutes(): readonly Route[] {
  return [
    route({
      method: 'get',
      path: '/blobs/{hash}',
      operation: 'getBlob',
      scope: 'read',
      tag: 'Messages',
      summary: 'Read the bytes of a large part of a message',
      description: 'Never changes, and may be cached for ever. Everything but plain images is a download.',
      params: z.strictObject({ hash: z.string().describe('SHA-256 in hexadecimal') }),
      headers: { Range: 'One range of bytes: bytes=0-1023' },
      responses: {
        200: { description: 'All bytes', mediaType: 'application/octet-stream' },
        206: { description: 'A range of the bytes', mediaType: 'application/octet-stream' },
        304: { description: 'The client has the blob' },
      },
      async handle({ params: { hash }, request, caller: { store } }) {
        if (!/^[0-9a-f]{64}$/.test(hash)) throw new InvalidError('hash', 'must be 64 hexadecimal digits')
        const etag = `"${hash}"`
        const bytes = await store.readBlob(hash)
        const headers = { ...headersFor(bytes, hash), etag }
        if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
        const range = rangeOf(request.headers.get('range'), bytes.byteLength)
        // A HEAD request has no body to count.
        const size = (length: number) => ({ 'content-length': String(length) })
        if (range === null)
          return new Response(asBody(bytes), { headers: { ...headers, ...size(bytes.byteLength) } })
        const [start, end] = range
        return new Response(asBody(bytes.subarray(start, end + 1)), {
          status: 206,
          headers: {
            ...headers,
            ...size(end - start + 1),
            'content-range': `bytes ${start}-${end}/${bytes.byteLength}`,
          },
        })
      },
    }),
  ]
}

function headersFor(bytes: Uint8Array, hash: string): Record<string, string> {
  const [image] = images.find(([, matches]) => matches(bytes)) ?? []
  return {
    'content-type': image ?? 'application/octet-stream',
    'content-disposition': image ? 'inline' : `attachment; filename="${hash.slice(0, 16)}.bin"`,
    'cache-control': 'private, max-age=31536000, immutable',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  }
}

/** The first and last byte of a `Range` header, or null if all bytes are asked for. A header with several
 *  ranges or another unit is ignored, as RFC 9110 allows. Throws HttpError (416). */
function rangeOf(header: string | null, size: number): readonly [number, number] | null {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return null
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (start <= end && start < size) return [start, end]
  throw new HttpError('wrong_range', 'the range is outside the blob', {
    headers: { 'content-range': `bytes */${size}` },
  })
}

function startsWith(bytes: Uint8Array, beginning: readonly number[]): boolean {
  return beginning.every((byte, i) => bytes[i] === byte)
}

/** The bytes as a body. Their buffer is never shared between threads. */
function asBody(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>
}
