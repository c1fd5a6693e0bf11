/** The paths after `@` in a text, in their order, each once: `@src/a.ts`, `@"my notes.txt"`. The `@` begins a
 *  word, so an address such as ada@example.org has none. */
export function mentionsIn(text: string): readonly string[] {
  const found = [...text.matchAll(/(?<=^|[\s(])@(?:"([^"\n]+)"|([^\s"]+))/g)]
  return [...new Set(found.map(([, quoted, word]) => quoted ?? word!))]
}

/** The path as the text mentions it: with quotes if it has spaces. */
export function mentionOf(path: string): string {
  return /[\s"]/.test(path) ? `@"${path}"` : `@${path}`
}

/** The forms of a mentioned path to look for. The sentence may continue or end after it: `(see @a.ts).` */
export function possiblePaths(path: string): readonly string[] {
  const bare = path.replace(/[.,;:!?)'\]]+$/, '')
  return bare === path || bare === '' ? [path] : [path, bare]
}

/** Whether a mention that names no file was probably meant as a path, and not as a name such as @ada. */
export function looksLikePath(path: string): boolean {
  return /^[.~/]|\/.*\.\w+$|^[\w-]+\.\w{1,5}$/.test(path)
}
