/** Whether values lie in each other more than `limit` times, in a text that is taken to be JSON. Strings are jumped over:
 *  long lines are mostly pictures. */
export function isDeeper(json: Buffer, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (byte === 0x22) {
      at = closingQuote(json, at)
      if (at < 0) return false
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

function closingQuote(json: Buffer, from: number): number {
  let at = json.indexOf(0x22, from + 1)
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf(0x22, at + 1)
  return at
}

/** An even number of backslashes are so many backslashes; an odd one leaves one for the quote. */
function isEscaped(json: Buffer, quote: number): boolean {
  let at = quote
  while (json[at - 1] === 0x5c) at--
  return (quote - at) % 2 === 1
}
