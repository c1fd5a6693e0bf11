import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'
import { configFolder } from '../../config/folder.ts'
import { type Args, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { noteLine } from '../output/print.ts'

/** The tools that run without asking: those of `--allow`, and of `tools.allow` in the user's own file. A
 *  project's file must not allow anything: it may come with a clone. */
export function allowedTools(args: Args, config: Config, context: CommandContext): readonly string[] {
  const named = textOptions(args, 'allow')
    .flatMap(text => text.split(','))
    .map(name => name.trim())
    .filter(name => name !== '')
  return [...named, ...configuredAllow(config, context)]
}

function configuredAllow({ tools, sources }: Config, context: CommandContext): readonly string[] {
  const source = sources['tools.allow']
  if (tools.allow.length === 0 || source?.kind !== 'file') return tools.allow
  if (dirname(source.file) === configFolder(context.env)) return tools.allow
  if (!context.quiet && !context.json)
    context.err.line(
      noteLine(`${source.file} sets tools.allow, which counts only in your own file`, context.err),
    )
  return []
}
