import type { ProgramSettings } from './config.ts'
import { programSettings, readProgram } from './program-settings.ts'
import type { Section } from './section.ts'
import { onlyDeclared, type SectionDeclaration, structuredSetting, valueSetting } from './setting.ts'
import { text } from './values.ts'

/** A member of `agents` that is another program, which uses the Agent Client Protocol. */
export interface ForeignAgentSettings extends ProgramSettings {
  /** What it does, for a model that gives it tasks. */
  readonly description: string | null
  /** The agent's own settings, by id or name: `mode`, `model` and others. */
  readonly settings: Readonly<Record<string, string>>
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

const foreignSettings = {
  description,
  ...programSettings,
  mode: valueSetting(
    text,
    'that of the agent',
    'The mode of new conversations, such as `plan`. `--mode` overrides it.',
  ),
  model: valueSetting(text, 'that of the agent', 'The model that the agent uses. `-m` overrides it.'),
  set: structuredSetting(
    'a mapping of names to texts',
    'none',
    'Other options of the agent, which `/set` lists. `--set` overrides them.',
  ),
}

/** The sections of agents that are other programs. */
export const foreignAgentSection: SectionDeclaration = {
  path: 'agents.<name>',
  about:
    'An agent for `skein agent <name>`, `skein acp <name>` and `skein mcp --agent <name>`. With `command` it is another ' +
    'program, which uses the Agent Client Protocol; `skein agents` lists those that need no entry, and an entry of the ' +
    'same name replaces one. `mode`, `model` and `set` are for `skein agent` and `skein mcp`: in an editor, the editor ' +
    "chooses. A project's file starts programs only after `skein config trust`.",
  settings: foreignSettings,
  example: `agents:
  gemini:
    description: Reads long files well.
    command: gemini
    args: [--acp]
    env:
      GEMINI_SANDBOX: docker
    cwd: /home/ada/work
    mode: plan
    model: gemini-3.5-pro
    set:
      thinking: high`,
}

/** The sections of agents of ours. */
export const ownAgentSection: SectionDeclaration = {
  path: 'agents.<name>',
  about:
    'Or an agent of ours: a model with a system prompt and tools. A member without `command` is one. `skein agent <name>` ' +
    'chats with it, `skein acp <name>` serves it to an editor, and `skein mcp --agent <name>` offers it as the tool `ask`.',
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
    const mode = section.value('mode', foreignSettings.mode.reader)
    const model = section.value('model', foreignSettings.model.reader)
    const settings = {
      ...Object.fromEntries(section.texts('set')),
      ...(mode !== undefined && { mode }),
      ...(model !== undefined && { model }),
    }
    return program === undefined ? undefined : { description: about, settings, ...program }
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
