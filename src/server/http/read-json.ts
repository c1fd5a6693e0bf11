import { InvalidError } from '../../core/errors.ts'
import { HttpError } from './http-error.ts'

/** How large a body may be, and how long it may take. */
export interface BodyLimits {
  /** Most bytes of a body. Default: 32 MiB. */
  readonly bodyBytes: number
  /** Most milliseconds until a body has arrived. Default: 30,000. */
  readonly bodyMs: number
}

/** The deepest nesting of a JSON body. Stored content is limited as well; this protects the parser. */
const mostLevels = 200

/** Reads the body of a request as JSON. Refuses other media types with 415, large bodies with 413, slow ones
 *  with 408, and everything that is not UTF-8 or not JSON with InvalidError. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  checkMediaType(request.headers.get('content-type'))
  const text = decode(await readBytes(request, limits))
  if (levelsOf(text) > mostLevels) throw new InvalidError('body', `has more than ${mostLevels} levels`)
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidError('body', 'is not JSON')
  }
}

function checkMediaType(type: string | null): void {
  if (type === null || /^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(type)) return
  throw new HttpError(415, 'wrong_media_type', 'the body must be application/json')
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
  if (!request.body) return new Uint8Array()
  const reader = request.body.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  using deadline = deadlineAfter(limits.bodyMs)
  for (;;) {
    const read = await Promise.race([reader.read(), deadline.passed])
    if (read === null) {
      reader.cancel().catch(() => undefined)
      throw new HttpError(408, 'too_slow', `the body did not arrive within ${limits.bodyMs / 1_000} s`)
    }
    if (read.done) break
    size += read.value.byteLength
    if (size > limits.bodyBytes) {
      reader.cancel().catch(() => undefined)
      throw tooLarge(limits.bodyBytes)
    }
    pieces.push(read.value)
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

function tooLarge(most: number): HttpError {
  const facts = { members: { limit: most }, hint: 'Split the request: send fewer messages at once.' }
  return new HttpError(413, 'too_large', `the body has more than ${most} bytes`, facts)
}

function deadlineAfter(ms: number): { readonly passed: Promise<null> } & Disposable {
  const { promise, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), ms)
  timer.unref()
  return { passed: promise, [Symbol.dispose]: () => clearTimeout(timer) }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new InvalidError('body', 'is not valid UTF-8')
  }
}

/** The deepest nesting of brackets outside strings, without parsing. Stops counting above the limit. */
function levelsOf(text: string): number {
  let level = 0
  let deepest = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) i = endOfString(text, i)
    else if (code === 0x7b || code === 0x5b) {
      if (++level > deepest) deepest = level
      if (deepest > mostLevels) break
    } else if (code === 0x7d || code === 0x5d) level--
  }
  return deepest
}

/** The position of the quotation mark that ends the string at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}
