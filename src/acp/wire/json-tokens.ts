/** Reads single tokens of a JSON text. Each function returns where the token ends, or -1 if there is none. */

const quote = 0x22
const backslash = 0x5c

/** The position of the next byte that is not white space. */
export function afterSpace(json: Buffer, from: number): number {
  let at = from
  for (;;) {
    const byte = json[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** The end of a string, number, `true`, `false` or `null`. */
export function endOfScalar(json: Buffer, from: number): number {
  switch (json[from]) {
    case quote:
      return endOfString(json, from)
    case 0x74:
      return endOfWord(json, from, 'true')
    case 0x66:
      return endOfWord(json, from, 'false')
    case 0x6e:
      return endOfWord(json, from, 'null')
    default:
      return endOfNumber(json, from)
  }
}

export function endOfString(json: Buffer, from: number): number {
  if (json[from] !== quote) return -1
  for (let at = from + 1; at < json.length; at++) {
    const byte = json[at]!
    if (byte === quote) return at + 1
    if (byte < 0x20) return -1
    if (byte !== backslash) continue
    at = lastOfEscape(json, at + 1)
    if (at < 0) return -1
  }
  return -1
}

/** The last byte of an escape whose letter is at `at`. */
function lastOfEscape(json: Buffer, at: number): number {
  switch (json[at]) {
    case quote:
    case backslash:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at
    case 0x75: // u
      return isHex(json[at + 1]) && isHex(json[at + 2]) && isHex(json[at + 3]) && isHex(json[at + 4])
        ? at + 4
        : -1
    default:
      return -1
  }
}

function endOfWord(json: Buffer, from: number, word: string): number {
  for (let at = 0; at < word.length; at++) if (json[from + at] !== word.charCodeAt(at)) return -1
  return from + word.length
}

function endOfNumber(json: Buffer, from: number): number {
  let at = json[from] === 0x2d ? from + 1 : from
  at = json[at] === 0x30 ? at + 1 : afterDigits(json, at)
  if (at < 0) return -1
  if (json[at] === 0x2e) at = afterDigits(json, at + 1)
  if (at < 0) return -1
  if (json[at] !== 0x65 && json[at] !== 0x45) return at
  const isSigned = json[at + 1] === 0x2b || json[at + 1] === 0x2d
  return afterDigits(json, isSigned ? at + 2 : at + 1)
}

/** Requires at least one digit. */
function afterDigits(json: Buffer, from: number): number {
  let at = from
  while (isDigit(json[at])) at++
  return at === from ? -1 : at
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function isHex(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}
