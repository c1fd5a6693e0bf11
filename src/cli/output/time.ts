const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The age of a date in a few characters: `now`, `4m`, `3h`, `2d`; from 7 days `9 Nov`; `Nov 2025` in another
 *  year. A date in the future, from a clock that is ahead, is `now`. */
export function formatAge(date: Date, now: Date | number): string {
  const today = new Date(now)
  const past = today.getTime() - date.getTime()
  if (past < minute) return 'now'
  if (past < hour) return `${Math.floor(past / minute)}m`
  if (past < day) return `${Math.floor(past / hour)}h`
  if (past < 7 * day) return `${Math.floor(past / day)}d`
  const month = months[date.getMonth()]
  return date.getFullYear() === today.getFullYear()
    ? `${date.getDate()} ${month}`
    : `${month} ${date.getFullYear()}`
}

/** `2026-11-14 17:42`, in local time. */
export function formatTime(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  const ymd = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${ymd} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** A duration: `4 ms`, `1.8 s`, `2m 5s`, `3h 20m`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 9950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`
}

/** `15 Dec`, in local time. */
export function formatDay(date: Date): string {
  return `${date.getDate()} ${months[date.getMonth()]}`
}
