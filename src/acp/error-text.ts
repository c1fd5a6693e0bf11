/** What went wrong, in words: anything may be thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
