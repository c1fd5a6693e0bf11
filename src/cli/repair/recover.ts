import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { openStore } from '../../stores/open.ts'
import {
  type RecoverLoss,
  type RecoverResult,
  recoverFile,
} from '../../stores/sqlite/recover/recover-file.ts'
import { hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { plural, whole } from '../output/number.ts'
import { progressLine } from '../output/progress-line.ts'
import { shortened, shortestId } from '../output/short-id.ts'
import { duration } from '../output/time.ts'
import { isServerUrl } from '../store/store-location.ts'

/** How many losses are named to people; programs are told all. */
const mostListed = 20

/** Copies what is sound of a damaged file into a new one. Exit 1 if something could not be copied as it was. */
export const recover: Run = async (given, world) => {
  const named = given.arguments[0]
  const damaged = named === undefined ? world.place().target : resolve(world.cwd, named)
  if (isServerUrl(damaged))
    throw new UsageError('recover is for SQLite files', 'For PostgreSQL: a backup of the server')
  if (!existsSync(damaged)) throw new UsageError(`there is no file ${damaged}`)
  const to = resolve(world.cwd, textOption(given, 'output') ?? besides(damaged))
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (to === damaged) throw new UsageError('that is the damaged file itself', 'Name another with -o')
  if (there && !there.isFile()) throw new UsageError(`${to} is no plain file`, 'Name another with -o')
  if (there && !hasOption(given, 'force'))
    throw new UsageError(`${to} is there already`, 'To write over it: --force')

  const began = performance.now()
  const unfinished = `${to}.${process.pid}.unfinished`
  const progress = progressLine(world, 'recovering', 'conversations')
  const losses: RecoverLoss[] = []
  try {
    let result: RecoverResult
    {
      await using target = await openStore(unfinished, { durability: 'normal' })
      result = await recoverFile(damaged, target, {
        signal: world.signal,
        onLoss: loss => losses.push(loss),
        onProgress: (done, total) => progress.show(done, total),
      })
    }
    progress.end()
    renameSync(unfinished, to)
    tell(world, damaged, to, result, losses, performance.now() - began)
    return losses.length + result.gaps.length > 0 ? exit.failure : exit.ok
  } finally {
    progress.end()
    for (const end of ['', '-wal', '-shm']) rmSync(`${unfinished}${end}`, { force: true })
  }
}

function besides(damaged: string): string {
  const end = extname(damaged)
  return join(dirname(damaged), `${basename(damaged, end)}-recovered${end || '.db'}`)
}

function tell(
  world: World,
  damaged: string,
  to: string,
  result: RecoverResult,
  losses: readonly RecoverLoss[],
  ms: number,
): void {
  const { conversations, messages, mended, gaps } = result
  if (world.json) {
    const { losses: counts, whole: wholeOnes } = result
    const receipt = { file: to, conversations, whole: wholeOnes, messages, counts, losses, mended, gaps }
    world.out.line(JSON.stringify({ ...receipt, ms: Math.round(ms) }))
    return
  }
  if (world.quiet) return
  const { style } = world.err
  const { dot, note, ok } = style.symbols
  const what = `${plural(messages, 'message')} in ${plural(conversations, 'conversation')}`
  world.err.line(`recovered ${what} ${dot} ${style.safe(to)} ${dot} ${duration(ms)}`)
  for (const line of [...mended, ...gaps.map(({ table, reason }) => `${table}: ${reason}`)])
    world.err.line(`${style.note(note)} ${style.safe(line)}`)
  if (losses.length === 0) {
    if (gaps.length === 0) world.err.line(`${style.ok(ok)} nothing is missing`)
  } else {
    const { lost, emptied, rehung, other } = result.losses
    const parts = [
      ...(lost > 0 ? [`${plural(lost, 'message')} lost`] : []),
      ...(emptied > 0 ? [`${whole(emptied)} without ${emptied === 1 ? 'its' : 'their'} words`] : []),
      ...(rehung > 0 ? [`${whole(rehung)} with a new id, because one before is lost`] : []),
      ...(other > 0 ? [`${plural(other, 'other thing')}`] : []),
    ]
    world.err.line(`${style.note(note)} ${parts.join(', ')}`)
    for (const { conversation, message, what: why } of losses.slice(0, mostListed)) {
      const which = message === null ? '' : `${style.id(shortened(message, shortestId))}: `
      world.err.line(`  ${style.id(shortened(conversation, shortestId))}  ${which}${style.safe(why)}`)
    }
    if (losses.length > mostListed)
      world.err.line(`  and ${whole(losses.length - mostListed)} more: the same with --json`)
  }
  world.err.line(
    `${style.safe(damaged)} is as it was ${dot} look at the new one: skein --db ${style.safe(to)} ls`,
  )
}
