/** A text without its white space: agents split, join and trim what they repeat. */
export function bare(text: string): string {
  return text.replaceAll(/\s+/g, '')
}
