import type { ToolResultPolicy } from '../core/conversation.ts'
import { parseDuration } from './duration.ts'

/** Parses one value. Returns a problem as an Error whose text follows the value: `is not a number`. */
export interface Reader<T> {
  (value: unknown): T | Error
  /** The values that it accepts, in words. */
  readonly takes: string
}

/** A reader of the values that `takes` describes. */
export function readerOf<T>(takes: string, read: (value: unknown) => T | Error): Reader<T> {
  return Object.assign((value: unknown) => read(value), { takes })
}

export const text: Reader<string> = readerOf('text', value =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : new Error('is not text'),
)

/** An integer above 0; a text that contains one is accepted too, as in the environment. */
export const positive: Reader<number> = readerOf('a whole number above 0', value => {
  const number =
    typeof value === 'string' && /^[\d_]+$/.test(value) ? Number(value.replaceAll('_', '')) : value
  if (typeof number !== 'number' || Number.isNaN(number)) return new Error('is not a number')
  return Number.isSafeInteger(number) && number > 0 ? number : new Error('is not a whole number above 0')
})

/** An integer that is at least `least`. */
export function wholeNumberFrom(least: number): Reader<number> {
  return readerOf(`a whole number from ${least}`, value => {
    const number = positive(value)
    return number instanceof Error || number >= least ? number : new Error(`is below ${least}`)
  })
}

/** A number from 0, and at most `most`; a text that contains one is accepted too. */
export function numberUpTo(most: number): Reader<number> {
  const isOpen = most === Number.POSITIVE_INFINITY
  return readerOf(isOpen ? 'a number, 0 or above' : `a number from 0 to ${most}`, value => {
    const number = typeof value === 'string' && /^\d*\.?\d+$/.test(value) ? Number(value) : value
    if (typeof number !== 'number' || Number.isNaN(number)) return new Error('is not a number')
    if (number >= 0 && number <= most) return number
    return new Error(isOpen ? 'is below 0' : `is not a number from 0 to ${most}`)
  })
}

/** Any integer; a text that contains one is accepted too. */
export const integer: Reader<number> = readerOf('a whole number', value => {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : new Error('is not a whole number')
})

export const duration: Reader<number> = readerOf('a duration, such as `24h`, `30d` or `90m`', value => {
  const ms = typeof value === 'string' ? parseDuration(value) : null
  if (ms === null) return new Error('is not a duration, such as 24h, 30d or 90m')
  return ms > 0 ? ms : new Error('must be longer than zero')
})

/** `off` or an empty value switches it off. */
export function orOff<T>(reader: Reader<T>): Reader<T | null> {
  return readerOf(`${reader.takes}, or \`off\``, value =>
    value === null || value === false || value === 'off' ? null : reader(value),
  )
}

export const onOrOff: Reader<boolean> = readerOf('`on` or `off`', value => {
  if (value === true || value === 'on' || value === 'yes') return true
  return value === false || value === 'off' || value === 'no' ? false : new Error('is neither on nor off')
})

export function oneOf<const T extends string>(...choices: readonly T[]): Reader<T> {
  return readerOf(choices.map(choice => `\`${choice}\``).join(', '), value =>
    choices.includes(value as T) ? (value as T) : new Error(`is none of ${choices.join(', ')}`),
  )
}

/** `full`, `metadata`, or the number of characters to keep of each result. */
export const toolResultPolicy: Reader<ToolResultPolicy> = readerOf(
  '`full`, `metadata` or a number of characters',
  value => {
    if (value === 'full' || value === 'metadata') return value
    const truncate = positive(value)
    return truncate instanceof Error
      ? new Error('is neither full nor metadata nor a number of characters')
      : { truncate }
  },
)

/** The URL of a server. */
export const address: Reader<string> = readerOf('a URL with `http://` or `https://`', value =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
    ? value
    : new Error('is not a URL: it must begin with http:// or https://'),
)
