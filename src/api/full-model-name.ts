/** Short names that need no configuration. */
export const knownAliases: Readonly<Record<string, string>> = {
  sonnet: 'anthropic/claude-sonnet-5-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-5-5',
  gpt: 'openai/gpt-5.5',
  gemini: 'google/gemini-3.5-flash',
}

/** The full name of a typed model: of an alias, of a name without its provider, or of `sonnet-4.5`. */
export function fullModelName(typed: string, aliases: Readonly<Record<string, string>> = {}): string {
  const name = typed.trim()
  const lower = name.toLowerCase()
  for (const known of [aliases, knownAliases]) {
    if (Object.hasOwn(known, name)) return known[name]!
  }
  if (name.includes('/')) return name
  const claude = /^(?:claude-)?((?:sonnet|opus|haiku|fable)-[\d.]+)$/.exec(lower)?.[1]
  if (claude !== undefined) return `anthropic/claude-${claude.replaceAll('.', '-')}`
  if (lower.startsWith('claude-')) return `anthropic/${name}`
  if (/^(gpt-|chatgpt-|o\d)/.test(lower)) return `openai/${name}`
  return lower.startsWith('gemini-') ? `google/${name}` : name
}
