import { InvalidError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { similarWords } from '../core/similar-words.ts'
import type { ValueSource } from './config.ts'
import type { Reader } from './values.ts'
import type { Entry } from './yaml-file.ts'

/** The output of reading a file. */
export interface Findings {
  /** The file's name in messages. */
  readonly shown: string
  readonly file: string
  readonly problems: { readonly line: number; readonly error: InvalidError }[]
  readonly sources: Record<string, ValueSource>
}

/** A mapping of a file, read member by member. An invalid member is left out and becomes a problem with its
 *  line. */
export interface Section {
  has(name: string): boolean
  /** Every other name is a problem. */
  only(...names: readonly string[]): void
  value<T>(name: string, reader: Reader<T>, standard?: string): T | undefined
  /** The same, and a problem if it is missing. */
  needed<T>(name: string, reader: Reader<T>): T | undefined
  /** A list of texts; empty if it is missing. */
  list(name: string): readonly string[]
  /** A list of long numbers in quotes: unquoted, YAML rounds them. */
  ids(name: string): readonly string[]
  /** A mapping of names to texts. */
  texts(name: string): readonly (readonly [string, string])[]
  section(name: string): Section | null
  /** A mapping of names to mappings. */
  sections(name: string): readonly (readonly [string, Section])[]
  /** A mapping of names to texts or mappings. */
  textsOrSections(name: string): readonly (readonly [string, string | Section])[]
  /** Any value, as JSON. */
  json(name: string): Json | undefined
  /** Reports a problem with a member. */
  refuse(name: string, what: string): void
}

/** Reads a mapping at a path (`conversation`, `mcp.files`; '' for the file itself). */
export function sectionOf(entry: Entry, path: string, findings: Findings): Section {
  const { shown, file, problems, sources } = findings
  const members = mapping(entry, path)

  return {
    has: name => members.has(name),
    only(...names) {
      for (const [name, { line }] of members) {
        if (names.includes(name)) continue
        const [near] = similarWords(name, names)
        const meant = near === undefined ? '' : ` Did you mean ${near}?`
        problem(line, name, `unknown setting.${meant} Known here: ${names.join(', ')}`)
      }
    },
    value: read,
    needed(name, reader) {
      if (!members.has(name)) problem(entry.line, path, `needs ${name}`)
      return read(name, reader)
    },
    list(name) {
      const member = members.get(name)
      if (!member || member.value === null) return []
      if (!isList(member.value)) {
        problem(member.line, name, 'is not a list')
        return []
      }
      note(at(name), member.line)
      return member.value.flatMap(item => asText(item, name) ?? [])
    },
    ids(name) {
      const member = members.get(name)
      if (!member || member.value === null) return []
      if (!isList(member.value)) {
        problem(member.line, name, 'is not a list')
        return []
      }
      note(at(name), member.line)
      return member.value.flatMap(item => asId(item, name) ?? [])
    },
    texts(name) {
      const member = members.get(name)
      if (!member) return []
      return [...mapping(member, at(name))].flatMap(([key, value]) => {
        const content = asText(value, `${name}.${key}`)
        if (content === undefined) return []
        note(`${at(name)}.${key}`, value.line)
        return [[key, content] as const]
      })
    },
    section(name) {
      const member = members.get(name)
      return member ? sectionOf(member, at(name), findings) : null
    },
    sections(name) {
      const member = members.get(name)
      if (!member) return []
      return [...mapping(member, at(name))].map(([key, value]) => {
        note(`${at(name)}.${key}`, value.line)
        return [key, sectionOf(value, `${at(name)}.${key}`, findings)] as const
      })
    },
    textsOrSections(name) {
      const member = members.get(name)
      if (!member) return []
      return [...mapping(member, at(name))].flatMap(
        ([key, value]): (readonly [string, string | Section])[] => {
          note(`${at(name)}.${key}`, value.line)
          if (value.value instanceof Map) return [[key, sectionOf(value, `${at(name)}.${key}`, findings)]]
          const content = asText(value, `${name}.${key}`)
          return content === undefined ? [] : [[key, content]]
        },
      )
    },
    json(name) {
      const member = members.get(name)
      if (!member) return undefined
      note(at(name), member.line)
      return jsonOf(member)
    },
    refuse: (name, what) => problem(members.get(name)?.line ?? entry.line, name, what),
  }

  function read<T>(name: string, reader: Reader<T>, standard?: string): T | undefined {
    const member = members.get(name)
    if (!member) return undefined
    const value = isPlain(member.value) ? reader(member.value) : new Error('is not a single value')
    if (value instanceof Error) {
      const quoted = isPlain(member.value) ? `${JSON.stringify(member.value)} ` : ''
      problem(member.line, name, `${quoted}${value.message}${defaultNote(standard)}`)
      return undefined
    }
    note(at(name), member.line)
    return value
  }

  function mapping(given: Entry, where: string): ReadonlyMap<string, Entry> {
    if (given.value instanceof Map) return given.value
    if (given.value !== null) problem(given.line, where, 'is not a mapping of names to values')
    return new Map()
  }

  function asText({ line, value }: Entry, name: string): string | undefined {
    if (isPlain(value) && value !== null) return String(value)
    problem(line, name, 'is not text')
    return undefined
  }

  function asId({ line, value }: Entry, name: string): string | undefined {
    if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return value
    const isRounded = typeof value === 'number'
    problem(
      line,
      name,
      isRounded ? 'put the id in quotes: YAML rounds long numbers' : 'is not an id: digits only',
    )
    return undefined
  }

  function at(name: string): string {
    return path === '' ? name : `${path}.${name}`
  }

  function note(where: string, line: number): void {
    sources[where] = { kind: 'file', file, line }
  }

  function problem(line: number, name: string, what: string): void {
    problems.push({ line, error: new InvalidError(`${shown}:${line}${name ? ` ${name}` : ''}`, what) })
  }
}

/** ` (default 10)`, ` (no default)`; '' if it is not worth a word. */
export function defaultNote(standard: string | undefined): string {
  if (standard === undefined) return ''
  return standard === 'none' ? ' (no default)' : ` (default ${standard})`
}

type Plain = string | number | boolean | null

function isPlain(value: Entry['value']): value is Plain {
  return value === null || typeof value !== 'object'
}

function jsonOf({ value }: Entry): Json {
  if (isPlain(value)) return value
  if (isList(value)) return value.map(jsonOf)
  return Object.fromEntries([...value].map(([key, member]) => [key, jsonOf(member)]))
}

function isList(value: Entry['value']): value is readonly Entry[] {
  return Array.isArray(value)
}
