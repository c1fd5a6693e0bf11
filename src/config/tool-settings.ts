import type { Section } from './section.ts'
import {
  onlyDeclared,
  readSetting,
  type SectionDeclaration,
  structuredSetting,
  valueSetting,
} from './setting.ts'
import { onOrOff, text } from './values.ts'

/** The section `tools`: what the command's own agent may use besides MCP servers. */
export interface ToolSettings {
  /** Whether the model may search and read earlier conversations of the project. */
  readonly recall: boolean
  /** Tools that run without asking. Read-only tools always do. */
  readonly allow: readonly string[]
  /** Tools whose calls wait for an approval where no person can be asked. */
  readonly ask: readonly string[]
}

/** A member of the section `subagents`: another agent that the model can give tasks to. */
export interface SubagentSettings {
  /** What it does, for the model that calls it. */
  readonly description: string
  /** A name or an alias. Null: the model of the conversation. */
  readonly model: string | null
  readonly system: string | null
}

export const toolDefaults: ToolSettings = { recall: false, allow: [], ask: [] }

const toolSettings = {
  recall: valueSetting(
    onOrOff,
    'off',
    'Lets the model search and read earlier conversations of the project.',
  ),
  allow: structuredSetting(
    'a list of names',
    'none',
    'Tools that run without asking, also where no person can be asked, as in the service and in dispatches. Tools that only read always run. In a terminal and an editor it counts only in your own file.',
  ),
  ask: structuredSetting(
    'a list of names',
    'none',
    'Tools that `skein serve` offers to the model although they are neither read-only nor in `allow`: their calls wait until a person answers, over HTTP or with `skein approvals`.',
  ),
}

/** The section `tools`. */
export const toolSection: SectionDeclaration = {
  path: 'tools',
  about: 'What the model may use besides the tools of MCP servers.',
  settings: toolSettings,
  example: `tools:
  recall: on
  allow: [run_tests]
  ask: [deploy]`,
}

/** Adds the section `tools` of a file to the settings of the files before. */
export function readTools(section: Section | null, before: ToolSettings): ToolSettings {
  if (section) onlyDeclared(section, toolSection)
  return {
    recall: readSetting(section, 'recall', toolSettings.recall) ?? before.recall,
    allow: section?.has('allow') ? section.list('allow') : before.allow,
    ask: section?.has('ask') ? section.list('ask') : before.ask,
  }
}

const subagentSettings = {
  description: valueSetting(text, null, 'What it does. The model that calls it reads this.'),
  model: valueSetting(text, 'the model of the conversation', 'A model or an alias.'),
  system: valueSetting(text, 'none', 'The system prompt.'),
}

/** The sections of subagents. */
export const subagentSection: SectionDeclaration = {
  path: 'subagents.<name>',
  about:
    'An agent that the model can give tasks to. Each run has a conversation of its own: `skein ls --traces`.',
  settings: subagentSettings,
  example: `subagents:
  explorer:
    description: Finds where something is done in the code.
    model: haiku
    system: Answer with file names and line numbers.`,
}

export function readSubagent(section: Section): SubagentSettings | undefined {
  onlyDeclared(section, subagentSection)
  const description = section.needed('description', subagentSettings.description.reader)
  if (description === undefined) return undefined
  return {
    description,
    model: section.value('model', subagentSettings.model.reader) ?? null,
    system: section.value('system', subagentSettings.system.reader) ?? null,
  }
}
