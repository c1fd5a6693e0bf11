import { branchJson } from '../../api/branch.ts'
import { readBranches, type ShownBranch } from '../../api/read-branches.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { gistOf } from '../../core/gist.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { cut } from '../output/cut.ts'
import { printJson, printNote, tsvField } from '../output/print.ts'
import { uniqueShortId } from '../output/short-id.ts'
import type { Style } from '../output/style.ts'
import { tableLines } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { needNamed } from '../target/find-named.ts'
import { newestHere } from '../target/newest-here.ts'

/** `skein branches`: lists the branches of a conversation, the most recently active last. */
export const branchesCommand: CommandHandler = (args, context) =>
  withStore(context, async store => {
    const [text] = args.arguments
    const newest = text === undefined ? (await newestHere(store, context)).newest?.conversation : undefined
    if (text === undefined && !newest) {
      throw new UsageError('branches needs an id here', 'skein ls --all lists them')
    }
    const id = newest?.id ?? (await needNamed(text!, store, context)).conversation.id
    const rows = await readBranches(store, id)
    if (context.json) printJson(context, rows.map(branchJson))
    else if (context.out.isTerminal) {
      const { style, width } = context.out
      if (newest)
        printNote(context, cut(collapseSpaces(newest.title ?? newest.id), width, style.symbols.dots))
      const short = new Map<string, string>()
      for (const { head } of rows) if (head) short.set(head.id, await uniqueShortId(store, head.id))
      for (const line of branchLines(rows, short, width, context.now(), style)) context.out.line(line)
    } else {
      for (const { info, head, own, prompt } of rows) {
        const path = head === null ? 0 : head.depth + 1
        const words = prompt === null ? '' : gistOf(prompt)
        const fields = [info.name, head?.id ?? '', `${own}`, `${path}`, info.updatedAt.toISOString(), words]
        context.out.line(fields.map(one => tsvField(context, one)).join('\t'))
      }
    }
    return exitCode.ok
  })

/** Branches for people: `* full-jitter  d6y3pf   6 of 58  now  what was asked last`. */
function branchLines(
  rows: readonly ShownBranch[],
  short: ReadonlyMap<string, string>,
  width: number,
  now: number,
  style: Style,
): readonly string[] {
  const cells = rows.map(({ info, head, own, prompt }) => [
    info.active ? '*' : ' ',
    style.safe(info.title ?? info.name).replace(/\s+/g, ' '),
    head === null ? '' : (short.get(head.id) ?? head.id),
    head === null ? 'empty' : `${own} of ${head.depth + 1}`,
    formatAge(info.updatedAt, now),
    style.safe(prompt === null ? '' : gistOf(prompt)),
  ])
  return tableLines(
    cells,
    [
      {},
      { gap: ' ', paint: style.branch, shrinksTo: 8, most: 30 },
      { paint: style.id },
      { align: 'right', least: 8 },
      { align: 'right' },
      { shrinksTo: width < 56 ? 4 : 12 },
    ],
    width,
    { dots: style.symbols.dots },
  )
}
