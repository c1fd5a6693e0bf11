import { spansOf, withMember } from '../wire/splice.ts'

/** What we can do for every agent. */
const ours = ['list', 'resume', 'fork', 'delete', 'close'] as const

/** The answer to `initialize`, with what we add to the agent's own abilities. Everything else stays as the agent said it. */
export function withOurAbilities(answer: Buffer): Buffer {
  const capabilities = ['result', 'agentCapabilities']
  let said = withMember(answer, [...capabilities, 'loadSession'], 'true')
  for (const ability of ours) {
    const path = [...capabilities, 'sessionCapabilities', ability]
    const [span] = spansOf(said, path)
    const isThere = span !== undefined && said.subarray(span.from, span.to).toString() !== 'null'
    if (!isThere) said = withMember(said, path, '{}')
  }
  return said
}
