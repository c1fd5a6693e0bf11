import { formatInteger } from '../../core/amount.ts'

export { formatBytes, formatCount, formatInteger, plural } from '../../core/amount.ts'

/** `$0.04`, `<$0.01`, `free`; an unknown price is left out: ''. */
export function formatMoney(dollars: number | null): string {
  if (dollars === null) return ''
  if (dollars === 0) return 'free'
  if (dollars < 0.005) return '<$0.01'
  const [integer = '0', cents] = dollars.toFixed(2).split('.')
  return `$${formatInteger(Number(integer))}.${cents}`
}
