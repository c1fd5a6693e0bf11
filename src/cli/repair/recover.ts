import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { openStore } from '../../stores/open.ts'
import {
  type RecoverLoss,
  type RecoverResult,
  recoverFile,
} from '../../stores/sqlite/recover/recover-file.ts'
import { type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { formatInteger, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { shortenId, shortestIdLength } from '../output/short-id.ts'
import { formatDuration } from '../output/time.ts'
import { shellWord } from '../store/skein-command.ts'
import { locate } from '../store/store-location.ts'

/** The number of losses to print. `--json` prints all. */
const mostListed = 20

/** `skein recover`: copies the intact part of a damaged file into a new one. Exit 1 if anything is lost. */
export const recoverCommand: CommandHandler = async (args, context) => {
  const named = args.arguments[0]
  const { target: damaged, isFile } =
    named === undefined ? context.location() : locate(named, context.cwd, 'file')
  if (!isFile) throw new UsageError('recover is for SQLite files', 'For PostgreSQL: a backup of the server')
  if (!existsSync(damaged)) throw new UsageError(`there is no file ${damaged}`)
  const to = resolve(context.cwd, textOption(args, 'output') ?? besides(damaged))
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (to === damaged) throw new UsageError('that is the damaged file itself', 'Name another with -o')
  if (there && !there.isFile()) throw new UsageError(`${to} is not a regular file`, 'Name another with -o')
  if (there && !hasOption(args, 'force'))
    throw new UsageError(`${to} already exists`, 'Overwrite it with --force')

  const began = performance.now()
  const unfinished = `${to}.${process.pid}.unfinished`
  const progress = createProgressBar(context, 'recovering', 'conversations')
  const losses: RecoverLoss[] = []
  // Ctrl+C removes the unfinished files too.
  using stop = stopOnInterrupt(context, { exits: true })
  try {
    let result: RecoverResult
    {
      await using target = await openStore(unfinished, { durability: 'normal' })
      result = await recoverFile(damaged, target, {
        signal: stop.signal,
        onLoss: loss => losses.push(loss),
        onProgress: (done, total) => progress.show(done, total),
      })
    }
    progress.end()
    renameSync(unfinished, to)
    tell(context, damaged, to, result, losses, performance.now() - began)
    return losses.length + result.gaps.length > 0 ? exitCode.failure : exitCode.ok
  } finally {
    progress.end()
    for (const end of ['', '-wal', '-shm']) rmSync(`${unfinished}${end}`, { force: true })
  }
}

function besides(damaged: string): string {
  const end = extname(damaged)
  return join(dirname(damaged), `${basename(damaged, end)}-recovered${end || '.db'}`)
}

/** One line per reason: a lost catalogue loses every table for the same one. */
function gapLines(gaps: RecoverResult['gaps']): readonly string[] {
  return [...Map.groupBy(gaps, ({ reason }) => reason)].map(([reason, same]) =>
    same.length === 1 ? `${same[0]!.table}: ${reason}` : `${formatInteger(same.length)} tables: ${reason}`,
  )
}

function tell(
  context: CommandContext,
  damaged: string,
  to: string,
  result: RecoverResult,
  losses: readonly RecoverLoss[],
  ms: number,
): void {
  const { conversations, messages, tasks, mended, gaps } = result
  if (context.json) {
    const { losses: counts, whole: wholeOnes } = result
    const copied = { conversations, whole: wholeOnes, messages, tasks }
    const receipt = { file: to, ...copied, counts, losses, mended, gaps }
    context.out.line(JSON.stringify({ ...receipt, ms: Math.round(ms) }))
    return
  }
  if (context.quiet) return
  const { style } = context.err
  const { dot, note, ok } = style.symbols
  const also = tasks === 0 ? '' : `, ${plural(tasks, 'task')}`
  const what = `${plural(messages, 'message')} in ${plural(conversations, 'conversation')}${also}`
  context.err.line(`recovered ${what} ${dot} ${style.safe(to)} ${dot} ${formatDuration(ms)}`)
  for (const line of [...mended, ...gapLines(gaps)])
    context.err.line(`${style.note(note)} ${style.safe(line)}`)
  if (losses.length === 0) {
    if (gaps.length === 0) context.err.line(`${style.ok(ok)} nothing is missing`)
  } else {
    const { lost, emptied, rehung, other } = result.losses
    const parts = [
      ...(lost > 0 ? [`${plural(lost, 'message')} lost`] : []),
      ...(emptied > 0 ? [`${formatInteger(emptied)} without ${emptied === 1 ? 'its' : 'their'} words`] : []),
      ...(rehung > 0 ? [`${formatInteger(rehung)} got new ids because an earlier message is lost`] : []),
      ...(other > 0 ? [`${plural(other, 'other thing')}`] : []),
    ]
    context.err.line(`${style.note(note)} ${parts.join(', ')}`)
    const groups = [...Map.groupBy(losses, ({ what: why }) => why)]
    for (const [why, [first, ...others]] of groups.slice(0, mostListed)) {
      const { conversation, message } = first!
      const which = message === null ? '' : `${style.id(shortenId(message, shortestIdLength))}: `
      const more = others.length > 0 ? ` (and ${formatInteger(others.length)} more)` : ''
      const id = style.id(shortenId(conversation, shortestIdLength))
      context.err.line(`  ${id}  ${which}${style.safe(why)}${more}`)
    }
    if (losses.length > groups.length || groups.length > mostListed)
      context.err.line('  all of them: the same with --json')
  }
  context.err.line(
    `${style.safe(damaged)} is unchanged ${dot} list the new one: skein --db ${style.safe(shellWord(to))} ls`,
  )
}
