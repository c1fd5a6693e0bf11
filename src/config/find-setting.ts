import { editDistance, similarWords } from '../core/similar-words.ts'
import { sectionDeclarations } from './sections.ts'
import type { SectionDeclaration, Setting } from './setting.ts'

/** A place in `skein.yaml`. */
export interface FoundSetting {
  /** The names from the top of the file: `['models', 'openai/gpt-5.5', 'window']`. */
  readonly path: readonly string[]
  /** As declared: `models.<name>.window`. */
  readonly declared: string
  readonly section: SectionDeclaration
  /** Null for a whole section, or a whole member of one. */
  readonly setting: Setting | null
}

/** Finds the setting or the section that a dotted path names. Names of members may contain dots. Null if
 *  there is none. */
export function findSetting(typed: string): FoundSetting | null {
  // A declared setting comes before a member of a mapping: `models.x.price.input`.
  for (const isBelow of [false, true]) {
    for (const section of sectionDeclarations) {
      for (const [name, setting] of Object.entries(section.settings)) {
        if (isBelow && !isMapping(setting)) continue
        const declared = section.path === '' ? name : `${section.path}.${name}`
        const path = matched(declared, typed, isBelow ? '\\.(?<below>.+)' : '')
        if (path) return { path, declared, section, setting }
      }
    }
  }
  return sectionDeclarations.map(section => sectionAt(section, typed)).find(found => found !== null) ?? null
}

/** Settings with a similar path, nearest first: `conversation.max_tokens` for `conversation.max_token`, and
 *  for `max_tokens` alone. */
export function similarSettings(typed: string): readonly string[] {
  const known = settingPaths()
  const ending = known.filter(path => path.split('.').at(-1) === typed)
  if (ending.length > 0) return ending
  const filled = known.map(path => ({ path, like: likePath(path, typed) }))
  const near = new Set(
    similarWords(
      typed,
      filled.map(({ like }) => like),
    ),
  )
  const found = filled.filter(({ like }) => near.has(like)).map(({ like }) => like)
  if (found.length > 0)
    return [...new Set(found)].sort((a, b) => editDistance(typed, a) - editDistance(typed, b))
  const last = typed.split('.').at(-1)!
  const words = similarWords(
    last,
    known.map(path => path.split('.').at(-1)!),
  )
  return known.filter(path => words.includes(path.split('.').at(-1)!))
}

/** The paths of all declared settings, in the order of `docs/config.md`. */
export function settingPaths(): readonly string[] {
  const paths = sectionDeclarations.flatMap(({ path, settings }) =>
    Object.keys(settings).map(name => (path === '' ? name : `${path}.${name}`)),
  )
  return [...new Set(paths)]
}

/** A declared path with the names that were typed in the places of `<name>`. */
function likePath(declared: string, typed: string): string {
  const words = typed.split('.')
  return declared
    .split('.')
    .map((part, i) => (part === '<name>' ? (words[i] ?? part) : part))
    .join('.')
}

function isMapping({ takes }: Setting): boolean {
  return takes.startsWith('a mapping')
}

/** The words of a path that matches a declaration; null if it does not. */
function matched(declared: string, typed: string, below: string): readonly string[] | null {
  const parts = declared.split('.')
  const pattern = parts.map(part => (part === '<name>' ? '(.+)' : escaped(part))).join('\\.')
  const found = new RegExp(`^${pattern}${below}$`).exec(typed)
  if (!found) return null
  let group = 0
  const path = parts.map(part => (part === '<name>' ? found[++group]! : part))
  const rest = found.groups?.below
  return rest === undefined ? path : [...path, ...rest.split('.')]
}

/** A whole section, or a member of one: `conversation`, `mcp`, `mcp.files`. A name with a dot is taken only
 *  if its last part is not a misspelt setting. */
function sectionAt(section: SectionDeclaration, typed: string): FoundSetting | null {
  const [first] = section.path.split('.', 1)
  if (section.path === '') return null
  const at = (path: readonly string[]) => ({ path, declared: section.path, section, setting: null })
  if (typed === first || typed === section.path) return at(typed.split('.'))
  const path = section.path.endsWith('.<name>') ? matched(section.path, typed, '') : null
  const name = path?.at(-1)
  if (!path || name === undefined) return null
  if (!name.includes('.')) return at(path)
  const last = name.split('.').at(-1)!
  const isMisspelt = similarWords(last, Object.keys(section.settings)).length > 0
  return section.path === 'models.<name>' && !isMisspelt && /\d$/.test(name) ? at(path) : null
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
