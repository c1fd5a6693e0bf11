import type { World } from '../../command-line/command-context.ts'
import { noteLine } from '../../output/print.ts'
import type { Chosen } from '../../target/choose-conversation.ts'
import { headerLines } from '../../target/header-lines.ts'

/** What is gone on with; and if nobody has answered there yet, how to ask again. */
export function sayHeader(chosen: Chosen, world: World, keptIn: string | null = null): void {
  const { err, canAsk, quiet } = world
  if (quiet) return
  const { standing } = chosen
  const quietly = { ...chosen, standing: standing && { ...standing, unanswered: false } }
  for (const line of headerLines(quietly, err, { now: world.now(), keptIn })) err.line(line)
  if (!standing?.unanswered || chosen.how !== 'continued') return
  err.line(noteLine(`your last message has no answer yet${canAsk ? ': Enter asks it again' : ''}`, err))
}
