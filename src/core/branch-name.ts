/** Names for a branch next to `name`, in the order to try them: `main` gives `main-2`, `main-3` …; `main-3`
 *  gives `main-4`, `main-5` … The caller takes the first one that is free. */
export function* siblingNames(name: string): Generator<string, never> {
  const numbered = /^(.*)-(\d{1,9})$/.exec(name)
  const stem = numbered ? numbered[1]! : name
  for (let n = numbered ? Number(numbered[2]) + 1 : 2; ; n++) yield `${stem}-${n}`
}

/** The name that a branch and its siblings begin with: `main` for `main`, `main-2`, `main-3` … */
export function branchStem(name: string): string {
  return name.replace(/-\d{1,9}$/, '')
}

/** The first sibling name of `name` that is not in `taken`. */
export function freeSiblingName(name: string, taken: ReadonlySet<string>): string {
  for (const candidate of siblingNames(name)) if (!taken.has(candidate)) return candidate
  throw new Error('unreachable: the names do not end')
}

/** Most characters of a branch name that is made of words. */
const mostCharacters = 24

/** Words that add nothing at the end of a name. */
const particles: ReadonlySet<string> = new Set(
  /* @__PURE__ */ 'a an and as at but by for from if in into is it of on or so that the then to with'.split(
    ' ',
  ),
)

/** A branch name made of the first words of a text: `use-full-jitter`. Letters and digits of any script, in
 *  lower case, joined by dashes, at most 24 characters. Null if the text has no words. */
export function branchNameFrom(text: string): string | null {
  const words: string[] = []
  let length = 0
  for (const [word] of text
    .slice(0, 1_000)
    .normalize('NFC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    const size = [...word].length
    if (length + size > mostCharacters) {
      // A language without spaces has one long word.
      if (words.length === 0) words.push(cutWord(word, mostCharacters))
      break
    }
    words.push(word)
    length += size + 1
  }
  while (words.length > 1 && particles.has(words.at(-1)!)) words.pop()
  return words.length === 0 ? null : words.join('-')
}

/** Whether a branch name is made of the first words of a text, perhaps with a number. */
export function isNameFrom(name: string, text: string): boolean {
  const made = branchNameFrom(text)
  if (made === null) return false
  const [ending] = /-\d{1,9}$/.exec(name) ?? []
  if (name === made || ending === undefined) return name === made
  return name === `${cutWord(made, mostCharacters - ending.length)}${ending}`
}

/** The name itself, then numbered: `use-full-jitter-2`, `use-full-jitter-3` … Each has at most 24 characters.
 *  The caller takes the first one that is free. */
export function* numberedNames(name: string): Generator<string, never> {
  yield name
  for (let n = 2; ; n++) {
    const ending = `-${n}`
    yield `${cutWord(name, mostCharacters - ending.length)}${ending}`
  }
}

/** Never separates a mark from its letter. */
function cutWord(word: string, most: number): string {
  const characters = [...word]
  let end = Math.min(most, characters.length)
  while (end > 1 && end < characters.length && /\p{M}/u.test(characters[end]!)) end--
  return characters.slice(0, end).join('').replace(/-$/, '')
}
