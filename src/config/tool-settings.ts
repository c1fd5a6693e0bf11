import type { Section } from './section.ts'
import { onOrOff, text } from './values.ts'

/** The section `tools`: what the command's own agent may use besides MCP servers. */
export interface ToolSettings {
  /** Whether the model may search and read earlier conversations of the project. */
  readonly recall: boolean
  /** Tools that may run without a person to ask: in `skein serve`. Read-only tools always may. */
  readonly allow: readonly string[]
}

/** A member of the section `subagents`: another agent that the model can give tasks to. */
export interface SubagentSettings {
  /** What it does, for the model that calls it. */
  readonly description: string
  /** A name or an alias. Null: the model of the conversation. */
  readonly model: string | null
  readonly system: string | null
}

export const toolDefaults: ToolSettings = { recall: false, allow: [] }

/** Adds the section `tools` of a file to the settings of the files before. */
export function readTools(section: Section | null, before: ToolSettings): ToolSettings {
  section?.only('recall', 'allow')
  return {
    recall: section?.value('recall', onOrOff, 'off') ?? before.recall,
    allow: section?.has('allow') ? section.list('allow') : before.allow,
  }
}

export function readSubagent(section: Section): SubagentSettings | undefined {
  section.only('description', 'model', 'system')
  const description = section.needed('description', text)
  if (description === undefined) return undefined
  return {
    description,
    model: section.value('model', text) ?? null,
    system: section.value('system', text) ?? null,
  }
}
