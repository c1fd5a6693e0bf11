import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A part of an origin document: its lines by number, each as `[REQ] text`. */
export interface Section {
  readonly title: string
  readonly lines: Readonly<Record<string, string>>
}

/** One of the five documents that the project started from. */
export interface OriginDocument {
  readonly id: string
  readonly title: string
  readonly sections: readonly Section[]
}

/** A point on which the documents differ, what each of them says, and the design that satisfies all. */
export interface Contradiction {
  readonly point: string
  readonly resolution: string
  readonly [document: string]: string
}

/** A reliability test and the result that it requires. */
export interface ReliabilityTest {
  readonly test: string
  readonly result: string
}

/** The content of `requirements.json`: the text behind every number that a test may carry as a tag. */
export interface Requirements {
  readonly documents: readonly OriginDocument[]
  readonly contradictions: Readonly<Record<string, Contradiction>>
  readonly rules: Readonly<Record<string, string>>
  readonly decisions: Readonly<Record<string, string>>
  readonly promises: Readonly<Record<string, string>>
  readonly reliability: Readonly<Record<string, ReliabilityTest>>
  /** The lines of the documents that a contradiction or decision settles without naming them in its text. */
  readonly decides: Readonly<Record<string, readonly string[]>>
}

export function readRequirements(): Requirements {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'requirements.json'), 'utf8')) as Requirements
}

/** Every number that a tag may name: `S3-76`, `C16`, `R27`, `P4`, `rule 3`, `settled 14`. */
export function numbersOf(requirements: Requirements): ReadonlySet<string> {
  const { documents, contradictions, rules, decisions, promises, reliability } = requirements
  const lines = documents.flatMap(({ sections }) => sections.flatMap(section => Object.keys(section.lines)))
  const others = [contradictions, rules, decisions, promises, reliability].flatMap(group =>
    Object.keys(group),
  )
  return new Set([...lines, ...others])
}

/** The contradictions and decisions that settle each line of the documents. */
export function decisionsByLine(requirements: Requirements): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const add = (line: string, number: string) => {
    const settledBy = found.get(line) ?? []
    if (!settledBy.includes(number)) found.set(line, [...settledBy, number])
  }
  for (const [number, lines] of Object.entries(requirements.decides)) {
    for (const line of lines) add(line, number)
  }
  for (const [number, text] of Object.entries(requirements.decisions)) {
    for (const line of numbersIn(text)) if (line.startsWith('S')) add(line, number)
  }
  return found
}

const number = String.raw`(?:S\d-\d+|[CPR]\d+|rule \d+|settled \d+)`
const span = new RegExp(`${number}(?: … ${number})?`, 'g')

/** The numbers that a text names. `S3-60 … S3-64` names five. */
export function numbersIn(text: string): readonly string[] {
  return [...text.matchAll(span)].flatMap(([found]) => {
    const [first, last] = found.split(' … ')
    return last === undefined ? [first!] : numbersBetween(first!, last)
  })
}

/** Whether a text consists of numbers and nothing else: `S3-76, R27`. */
export function isTagList(text: string): boolean {
  return new RegExp(`^${number}(?:(?:, | … )${number})*$`).test(text)
}

function numbersBetween(first: string, last: string): readonly string[] {
  const [, name, from] = /^(.*?)(\d+)$/.exec(first)!
  const [, , to] = /^(.*?)(\d+)$/.exec(last)!
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${name}${Number(from) + index}`)
}
