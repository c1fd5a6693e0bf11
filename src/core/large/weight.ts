import { isPlainObject } from '../json.ts'
import type { NewMessage } from '../message.ts'

/** Messages of more characters than this in one call are prepared in pieces, and may be written by another
 *  thread. Up to it, a call blocks the event loop for less than 50 ms. */
export const largeFrom = 1_000_000

/** Members of a list or an object that are looked into. The weight of further ones is estimated. */
const lookedInto = 64

/** Whether messages are large, by an estimate that costs next to nothing: it is made for every append. If it
 *  is wrong, nothing is stored differently. */
export function areLarge(messages: readonly NewMessage[]): boolean {
  let weight = 0
  for (const message of messages) {
    if (!isPlainObject(message)) return false
    weight += weightOf(message.content, largeFrom) + weightOf(message.metadata, largeFrom)
    if (weight > largeFrom) return true
  }
  return false
}

/** About how many characters of JSON a value has. Stops counting soon after `most`. */
export function weightOf(value: unknown, most: number, depth = 0): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null || depth > 32) return 4
  return Array.isArray(value) ? weightOfList(value, most, depth) : weightOfObject(value, most, depth)
}

function weightOfList(list: readonly unknown[], most: number, depth: number): number {
  const stride = Math.ceil(list.length / lookedInto)
  let weight = list.length
  for (let i = 0; i < list.length && weight <= most; i++) {
    const member = list[i]
    if (typeof member === 'string') weight += member.length + 2
    else if (i % stride === 0) weight += stride * weightOf(member, most / stride, depth + 1)
  }
  return weight
}

function weightOfObject(object: object, most: number, depth: number): number {
  const keys = Object.keys(object)
  const stride = Math.ceil(keys.length / lookedInto)
  let weight = 0
  for (let i = 0; i < keys.length && weight <= most; i++) {
    const key = keys[i]!
    weight += key.length + 4
    const member = (object as Record<string, unknown>)[key]
    if (typeof member === 'string') weight += member.length + 2
    else if (i % stride === 0) weight += stride * weightOf(member, most / stride, depth + 1)
  }
  return weight
}
