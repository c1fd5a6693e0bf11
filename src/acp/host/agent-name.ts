import { basename } from 'node:path'
import type { AgentCommand } from '../process/agent-process.ts'

/** Programs that only start another program. */
const starters = /^(npx|bunx|pnpx|uvx|pipx|node|bun|deno|python3?|npm|pnpm|yarn|env|sudo)$/
const starterWords = /^(exec|dlx|run|x)$/

/** The name of an agent, from its command: `copilot` for `/usr/bin/copilot --acp`, `codex-acp` for `npx -y
 *  @zed-industries/codex-acp@0.16.0`. */
export function agentName({ command, args }: Pick<AgentCommand, 'command' | 'args'>): string {
  const words = [command, ...args]
  const named = words.find((word, i) => {
    const bare = bareName(word)
    if (word.startsWith('-') || /^\w+=/.test(word)) return false
    return !starters.test(bare) && !(i > 0 && starterWords.test(bare))
  })
  return bareName(named ?? command).slice(0, 100) || 'agent'
}

function bareName(word: string): string {
  return basename(word)
    .replace(/(?<=.)@[^@]*$/, '')
    .replace(/\.(exe|cmd|bat|m?js|c?js|ts|py)$/, '')
}
