import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The agents that `skein agent <name>` starts, by the command that their users have installed. */
const agents: readonly (readonly [command: string, name: string, title: string])[] = [
  ['claude', 'claude', 'Claude Code'],
  ['codex', 'codex', 'Codex'],
  ['gemini', 'gemini', 'Gemini CLI'],
  ['copilot', 'copilot', 'Copilot'],
  ['opencode', 'opencode', 'opencode'],
  ['goose', 'goose', 'goose'],
  ['qwen', 'qwen', 'Qwen Code'],
  ['kimi', 'kimi', 'Kimi'],
  ['cline', 'cline', 'Cline'],
]

export interface InstalledAgent {
  /** The name after `skein agent`. */
  readonly name: string
  readonly title: string
}

/** The agents on the PATH. */
export function installedAgents(path: string): readonly InstalledAgent[] {
  const folders = path.split(delimiter).filter(Boolean)
  return agents.flatMap(([command, name, title]) =>
    folders.some(folder => isProgram(join(folder, command))) ? [{ name, title }] : [],
  )
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
