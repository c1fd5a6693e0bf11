/** A count in about four characters: `812`, `8.1k`, `74k`, `1.2M`. */
export function formatCount(n: number): string {
  return scaled(n, 1000, ['', 'k', 'M', 'G', 'T'])
}

/** An integer with thousands separators: `1,204`. */
export function formatInteger(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 message`, `1,204 messages`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${formatInteger(n)} ${n === 1 ? one : many}`
}

/** A size in bytes: `0 B`, `148 kB`, `4.2 MB`. */
export function formatBytes(n: number): string {
  return scaled(n, 1000, [' B', ' kB', ' MB', ' GB', ' TB'])
}

/** Up to 999 unscaled; above, at least two digits: 8.1k and 74k, never 8k for 8,100. */
function scaled(n: number, step: number, units: readonly string[]): string {
  let value = Math.max(0, n)
  let unit = 0
  while (unit < units.length - 1 && value >= (unit === 0 ? step : step - 0.5)) {
    value /= step
    unit++
  }
  const text = unit > 0 && value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
  return `${text}${units[unit]}`
}

/** `$0.04`, `<$0.01`, `free`; an unknown price is left out: ''. */
export function formatMoney(dollars: number | null): string {
  if (dollars === null) return ''
  if (dollars === 0) return 'free'
  if (dollars < 0.005) return '<$0.01'
  const [integer = '0', cents] = dollars.toFixed(2).split('.')
  return `$${formatInteger(Number(integer))}.${cents}`
}
