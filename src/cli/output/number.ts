export { formatBytes, formatCount, formatInteger, formatMoney, plural } from '../../core/amount.ts'
