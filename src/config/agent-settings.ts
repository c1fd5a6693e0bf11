import type { ProgramSettings } from './config.ts'
import { programSettings, readProgram } from './program-settings.ts'
import type { Section } from './section.ts'
import { onlyDeclared, type SectionDeclaration, structuredSetting, valueSetting } from './setting.ts'
import { text } from './values.ts'

/** A member of `agents` that is another program, which uses the Agent Client Protocol. */
export interface ForeignAgentSettings extends ProgramSettings {
  /** What it does, for a model that gives it tasks. */
  readonly description: string | null
}

/** A member of `agents` that is an agent of ours: a model with a system prompt and tools. */
export interface OwnAgentSettings {
  /** What it does, for a model that gives it tasks. */
  readonly description: string | null
  /** A name or an alias. */
  readonly model: string
  readonly system: string | null
  /** Names of tools, of MCP servers for all their tools, and `recall`. */
  readonly tools: readonly string[]
}

/** A member of the section `agents`. */
export type AgentSettings = ForeignAgentSettings | OwnAgentSettings

const description = valueSetting(
  text,
  'none',
  'What it does. A model that gives it tasks with `ask` reads this.',
)

const ownSettings = {
  description,
  model: valueSetting(text, null, 'A model or an alias.'),
  system: valueSetting(text, 'none', 'The system prompt.'),
  tools: structuredSetting(
    'a list of names',
    'none',
    'What it may use without asking: names of tools, names of MCP servers for all their tools, and `recall` for ' +
      "earlier conversations of the project. From a project's file, only tools that read.",
  ),
}

/** The sections of agents that are other programs. */
export const foreignAgentSection: SectionDeclaration = {
  path: 'agents.<name>',
  about:
    'An agent that `skein mcp --agent <name>` offers as the tool `ask`. With `command` it is another program, which ' +
    'uses the Agent Client Protocol. There is no person to ask for permissions, so they are refused. Programs are started ' +
    "only from the user's own file.",
  settings: { description, ...programSettings },
  example: `agents:
  gemini:
    description: Reads long files well.
    command: gemini
    args: [--experimental-acp]
    env:
      GEMINI_MODEL: gemini-3.5-flash
    cwd: /home/ada/work`,
}

/** The sections of agents of ours. */
export const ownAgentSection: SectionDeclaration = {
  path: 'agents.<name>',
  about: 'Or an agent of ours: a model with a system prompt and tools. A member without `command` is one.',
  settings: ownSettings,
  example: `agents:
  reviewer:
    description: Reviews a change and names its faults.
    model: sonnet
    system: Answer with file names and line numbers.
    tools: [recall, files]`,
}

/** Reads the member of `agents` with this name; undefined if a required setting is missing. */
export function readAgent(section: Section, name: string): AgentSettings | undefined {
  const about = section.value('description', description.reader) ?? null
  if (section.has('command')) {
    onlyDeclared(section, foreignAgentSection)
    const program = readProgram(section)
    return program === undefined ? undefined : { description: about, ...program }
  }
  onlyDeclared(section, ownAgentSection)
  if (!section.has('model')) {
    section.refuse(`agents.${name}`, 'needs command (a program) or model (an agent of ours)')
    return undefined
  }
  const model = section.value('model', ownSettings.model.reader)
  if (model === undefined) return undefined
  const system = section.value('system', ownSettings.system.reader) ?? null
  return { description: about, model, system, tools: section.list('tools') }
}
