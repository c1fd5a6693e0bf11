import type { Config } from '../../config/config.ts'
import { shownPath } from '../../config/read-config.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { confirm } from '../command-line/confirm.ts'
import type { Output } from '../output/output.ts'
import { printNote } from '../output/print.ts'
import { wrap } from '../output/wrap.ts'
import { type ProjectProgram, projectPrograms } from './project-programs.ts'
import { rememberTrust, trustOf } from './trusted-files.ts'

/** Asks whether the project's file may start programs, if it names some and the person has not answered for
 *  the file as it is now. Without a terminal nothing is asked, and nothing of it starts. */
export async function askTrust(config: Config, context: CommandContext): Promise<void> {
  if (!context.canAsk || context.quiet || context.json) return
  const programs = projectPrograms(config, context)
  for (const [file, named] of Map.groupBy(programs, one => one.file)) {
    if (trustOf(file, context.env) !== null) continue
    const shown = shownPath(file, context.cwd, context.env)
    const { err } = context
    err.line(`${err.style.note('?')} ${err.style.safe(shown)} of this project wants to start:`)
    for (const line of programLines(named, err)) err.line(line)
    const isTrusted = await confirm('Trust this file until it changes?', context)
    rememberTrust(file, isTrusted ? 'trusted' : 'declined', context.env, context.now())
    if (!isTrusted) printNote(context, 'none of it is started. To trust it later: skein config trust')
  }
}

/** One line for each program, whole: nothing is hidden from the person who decides. */
export function programLines(
  programs: readonly ProjectProgram[],
  { style, width }: Output,
): readonly string[] {
  return programs.flatMap(({ path, command }) =>
    wrap(`  ${style.safe(path)}: ${style.safe(command).replaceAll(/\s+/g, ' ')}`, Math.max(20, width)),
  )
}
