/** A known word of at most this length matches only within one edit. With two edits, any short word becomes
 *  another: `four` is not a misspelt `fork`. */
const shortWord = 4

/** The known words within two edits of the typed word, or one edit if they are short, nearest first. */
export function similarWords(typed: string, known: readonly string[]): readonly string[] {
  return known
    .map(word => ({ word, edits: editDistance(typed.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= (word.length <= shortWord ? 1 : 2))
    .sort((a, b) => a.edits - b.edits)
    .map(({ word }) => word)
}

/** The number of letters to insert, delete, replace, or swap with the next one. */
export function editDistance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, before[j - 2]! + 1)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length]!
}
