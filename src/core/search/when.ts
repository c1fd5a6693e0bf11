const minutes: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60, w: 7 * 24 * 60 }

const age = /^(\d{1,6})([mhdw])$/
const moment =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d\d:?\d\d)?)?$/

/** Reads a date (`2026-08-14`, midnight UTC), an ISO 8601 time (UTC unless it names an offset) or an age before
 *  `now` (`30m`, `12h`, `7d`, `2w`). Null if it is none of these or no day of the calendar. */
export function parseWhen(text: string, now: Date): Date | null {
  const ago = age.exec(text)
  if (ago) return new Date(now.getTime() - Number(ago[1]) * minutes[ago[2]!]! * 60_000)

  const match = moment.exec(text)
  if (!match) return null
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(digits => (digits === undefined ? undefined : Number(digits)))
  const millisecond = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const date = new Date(0)
  // Not Date.UTC, which takes the year 26 for 1926.
  date.setUTCFullYear(year!, month! - 1, day!)
  date.setUTCHours(hour, minute, second, millisecond)
  // A field out of range, as in 30 February or 25 o'clock, would have carried over.
  const kept =
    date.getUTCMonth() === month! - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second
  const offset = offsetMinutes(match[8])
  return kept && offset !== null ? new Date(date.getTime() - offset * 60_000) : null
}

function offsetMinutes(zone: string | undefined): number | null {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const rest = Number(zone.slice(-2))
  if (hours > 23 || rest > 59) return null
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + rest)
}
