import type { ProgramSettings } from './config.ts'
import type { Section } from './section.ts'
import { structuredSetting, valueSetting } from './setting.ts'
import { text } from './values.ts'

/** The settings of a program that is started: of `mcp.<name>` and `agents.<name>`. */
export const programSettings = {
  command: valueSetting(text, null, 'The program to start, without a shell.'),
  args: structuredSetting('a list of texts', 'none', 'Its arguments.'),
  env: structuredSetting('a mapping of names to texts', 'none', 'Environment variables for it.'),
  cwd: valueSetting(text, 'the working directory', 'The folder that it is started in.'),
}

/** Reads the settings of a program; undefined if the command is missing. */
export function readProgram(section: Section): ProgramSettings | undefined {
  const command = section.needed('command', programSettings.command.reader)
  if (command === undefined) return undefined
  const cwd = section.value('cwd', programSettings.cwd.reader)
  return {
    command,
    args: section.list('args'),
    env: Object.fromEntries(section.texts('env')),
    ...(cwd !== undefined && { cwd }),
  }
}
