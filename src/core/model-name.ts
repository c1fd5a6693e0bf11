/** A short name of a model: `anthropic/claude-sonnet-4-5-20250929` is `sonnet-4.5`, `openai/gpt-5.2` is
 *  `gpt-5.2`. */
export function modelName(id: string): string {
  const bare = id.slice(id.lastIndexOf('/') + 1).replace(/[-@]20\d{6}$/, '')
  const claude = /^claude-([a-z]+)-(\d+)(?:[-.](\d+))?$/.exec(bare)
  if (!claude) return bare || id
  const [, family, major, minor] = claude
  return minor === undefined ? `${family}-${major}` : `${family}-${major}.${minor}`
}
