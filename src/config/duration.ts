const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Parses a duration: `30d`, `24h`, `90m`, `1.5h`. Null if the text is not a duration. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text.trim()) ?? []
  if (amount === undefined || unit === undefined) return null
  const ms = Math.round(Number(amount) * units[unit]!)
  return Number.isSafeInteger(ms) ? ms : null
}
