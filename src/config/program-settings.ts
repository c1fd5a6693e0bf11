import type { AddressSettings, ProgramSettings } from './config.ts'
import type { Section } from './section.ts'
import { onlyDeclared, type SectionDeclaration, structuredSetting, valueSetting } from './setting.ts'
import { address, text } from './values.ts'

const programSettings = {
  command: valueSetting(text, null, 'The program to start, without a shell.'),
  args: structuredSetting('a list of texts', 'none', 'Its arguments.'),
  env: structuredSetting('a mapping of names to texts', 'none', 'Environment variables for it.'),
  cwd: valueSetting(text, 'the working directory', 'The folder that it is started in.'),
}

const addressSettings = {
  url: valueSetting(address, null, 'The address of the server.'),
  headers: structuredSetting(
    'a mapping of names to texts',
    'none',
    'Headers of every request, such as `Authorization`.',
  ),
}

/** The sections of MCP servers that are programs. */
export const mcpProgramSection: SectionDeclaration = {
  path: 'mcp.<name>',
  about:
    'An MCP server whose tools the model may use: a program that is started and used over stdin and stdout. Of ' +
    'the environment it gets the basic variables, such as `PATH` and `HOME`, and `env`. Servers are started only ' +
    "from the user's own file: a project's file must not start programs.",
  settings: programSettings,
  example: `mcp:
  files:
    command: npx
    args: [-y, '@modelcontextprotocol/server-filesystem', .]
    env:
      LOG_LEVEL: error
    cwd: /home/ada/work`,
}

/** The sections of MCP servers at an address. */
export const mcpAddressSection: SectionDeclaration = {
  path: 'mcp.<name>',
  about: 'Or a server at an address, over HTTP. A member with `url` is one.',
  settings: addressSettings,
  example: `mcp:
  search:
    url: https://mcp.example.org/
    headers:
      Authorization: Bearer abc`,
}

/** The sections of agents. */
export const agentSection: SectionDeclaration = {
  path: 'agents.<name>',
  about:
    'An agent of another program, which uses the Agent Client Protocol. No command reads this section yet: ' +
    '`skein agent -- <command>` names the program itself.',
  settings: programSettings,
  example: `agents:
  gemini:
    command: gemini
    args: [--experimental-acp]
    env:
      GEMINI_MODEL: gemini-3.5-flash
    cwd: /home/ada/work`,
}

/** Reads `agents.<name>`, or a program of `mcp.<name>`. */
export function readProgram(section: Section): ProgramSettings | undefined {
  onlyDeclared(section, agentSection)
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

/** Reads `mcp.<name>`. */
export function readMcpServer(section: Section): ProgramSettings | AddressSettings | undefined {
  if (!section.has('url')) return readProgram(section)
  onlyDeclared(section, mcpAddressSection)
  const url = section.needed('url', addressSettings.url.reader)
  return url === undefined ? undefined : { url, headers: Object.fromEntries(section.texts('headers')) }
}
