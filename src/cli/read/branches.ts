import type { BranchInfo } from '../../core/branch.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { collapseSpaces, cut } from '../output/cut.ts'
import { gistOf } from '../output/gist.ts'
import { printJson, printNote, tsvField } from '../output/print.ts'
import { uniqueShortId } from '../output/short-id.ts'
import type { Style } from '../output/style.ts'
import { tableLines } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { needNamed } from '../target/find-named.ts'
import { lastPrompt } from '../target/last-prompt.ts'
import { newestHere } from '../target/newest-here.ts'
import { findForks } from './branch-forks.ts'

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

/** A branch with what is shown of it. */
export interface ShownBranch {
  readonly info: Pick<BranchInfo, 'name' | 'active' | 'key' | 'title' | 'base' | 'createdAt' | 'updatedAt'>
  readonly head: Message | null
  /** Messages of its path that are on no other branch. */
  readonly own: number
  /** The last question. */
  readonly prompt: Message | null
}

/** The branches of a conversation with what is shown of each, the most recently active last. */
export async function readBranches(
  store: ConversationReader & MessageReader,
  id: ConversationId,
): Promise<readonly ShownBranch[]> {
  const infos = await collectPages(page => store.listBranches(id, page))
  const read: Omit<ShownBranch, 'own'>[] = []
  for (const info of infos) {
    const { prompt, after } = await lastPrompt(store, info.head)
    read.push({ info, head: after.at(-1) ?? prompt, prompt })
  }
  const { own } = findForks(
    await collectPages(page => store.listStretches(id, page)),
    read.map(({ info, head }) => ({ name: info.name, head })),
  )
  return read
    .map(row => ({ ...row, own: own.get(row.info.name) ?? 0 }))
    .sort((a, b) => a.info.updatedAt.getTime() - b.info.updatedAt.getTime())
}

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

function branchJson({ info, head, own, prompt }: ShownBranch) {
  return {
    name: info.name,
    active: info.active,
    head: head?.id ?? null,
    key: info.key,
    title: info.title,
    base: info.base,
    own_messages: own,
    path_messages: head === null ? 0 : head.depth + 1,
    created_at: info.createdAt.toISOString(),
    updated_at: info.updatedAt.toISOString(),
    prompt: prompt === null ? null : { id: prompt.id, text: gistOf(prompt) },
  }
}
