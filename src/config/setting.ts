import type { Section } from './section.ts'
import type { Reader } from './values.ts'

/** A setting of `skein.yaml`. `docs/config.md` is generated from the same declaration that the file is read
 *  with. */
export interface Setting {
  /** The values that it takes, in words. */
  readonly takes: string
  /** The default, as the file would have it; `none` if there is none. Null if the setting is required. */
  readonly standard: string | null
  /** What it does, as sentences. */
  readonly about: string
  /** The environment variables that override it. Default: none. */
  readonly variables?: readonly string[]
}

/** A setting with a single value. */
export interface ValueSetting<T> extends Setting {
  readonly reader: Reader<T>
}

/** Declares a setting with a single value. */
export function valueSetting<T>(reader: Reader<T>, standard: string | null, about: string): ValueSetting<T> {
  return { reader, takes: reader.takes, standard, about }
}

/** Declares a setting with a list or a mapping. */
export function structuredSetting(takes: string, standard: string | null, about: string): Setting {
  return { takes, standard, about }
}

/** A section of `skein.yaml`. */
export interface SectionDeclaration {
  /** Its path in the file: `conversation`, `channels.<name>`. Empty for the file itself. */
  readonly path: string
  /** What it is for, as sentences. */
  readonly about: string
  /** Its settings by name, in the order of the page. */
  readonly settings: Readonly<Record<string, Setting>>
  /** A file with every setting of the section. */
  readonly example: string
}

/** Reports every name that the section does not declare. */
export function onlyDeclared(section: Section, declaration: SectionDeclaration): void {
  section.only(...Object.keys(declaration.settings))
}

/** Reads a declared setting; undefined if it is missing or invalid. */
export function readSetting<T>(
  section: Section | null,
  name: string,
  { reader, standard }: ValueSetting<T>,
): T | undefined {
  return section?.value(name, reader, standard ?? undefined)
}
