import { exportsOf, type SourceFile } from './source.ts'

const driver = /^src\/stores\/(sqlite|postgres)\//

/** A name that several files declare and export, each with its own meaning. */
export interface SharedName {
  readonly name: string
  /** True if two or more of the files declare a type. */
  readonly isType: boolean
  readonly files: readonly string[]
}

/** The names that are declared and exported by more than one file of `src/`, in alphabetical order. The
 *  drivers are built alike: a file of one and its counterpart in another count as one. */
export function sharedNames(files: readonly SourceFile[]): readonly SharedName[] {
  const found = new Map<string, { path: string; isType: boolean }[]>()
  for (const file of files.filter(({ path }) => path.startsWith('src/'))) {
    for (const { name, isType } of exportsOf(file)) {
      found.set(name, [...(found.get(name) ?? []), { path: file.path, isType }])
    }
  }
  return [...found]
    .filter(([, places]) => new Set(places.map(({ path }) => path.replace(driver, 'src/stores/*/'))).size > 1)
    .map(([name, places]) => ({
      name,
      isType: places.filter(({ isType }) => isType).length > 1,
      files: places.map(({ path }) => path),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
