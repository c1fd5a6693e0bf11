/** Names for a branch next to `name`, in the order to try them: `main` gives `main-2`, `main-3` …; `main-3`
 *  gives `main-4`, `main-5` … The caller takes the first one that is free. */
export function* siblingNames(name: string): Generator<string, never> {
  const numbered = /^(.*)-(\d{1,9})$/.exec(name)
  const stem = numbered ? numbered[1]! : name
  for (let n = numbered ? Number(numbered[2]) + 1 : 2; ; n++) yield `${stem}-${n}`
}

/** The first sibling name of `name` that is not in `taken`. */
export function freeSiblingName(name: string, taken: ReadonlySet<string>): string {
  for (const candidate of siblingNames(name)) if (!taken.has(candidate)) return candidate
  throw new Error('unreachable: the names do not end')
}
