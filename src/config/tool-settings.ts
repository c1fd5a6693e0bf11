import type { Section } from './section.ts'
import { onOrOff, text } from './values.ts'

/** The section `tools`: what the command's own agent may use besides MCP servers. */
export interface ToolSettings {
  /** Whether the model may search and read earlier conversations of the project. */
  readonly recall: boolean
}

/** A member of the section `subagents`: another agent that the model can give tasks to. */
export interface SubagentSettings {
  /** What it does, for the model that calls it. */
  readonly description: string
  /** A name or an alias. Null: the model of the conversation. */
  readonly model: string | null
  readonly system: string | null
}

export const toolDefaults: ToolSettings = { recall: false }

/** Adds the section `tools` of a file to the settings of the files before. */
export function readTools(section: Section | null, before: ToolSettings): ToolSettings {
  section?.only('recall')
  return { recall: section?.value('recall', onOrOff, 'off') ?? before.recall }
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
