import { trashGraceMs } from '../../core/conversation.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { formatInteger, plural } from '../output/number.ts'
import { shortIds } from '../output/short-id.ts'
import { tableLines } from '../output/table.ts'
import { formatAge, formatDay } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { allConversations } from './all-conversations.ts'

/** `skein trash`: lists the trash of all directories. */
export const trashCommand: CommandHandler = (_given, context) => {
  return withStore(context, async store => {
    const { items } = await allConversations(store, { trashed: true })
    const newest = items.toSorted((a, b) => b.trashedAt!.getTime() - a.trashedAt!.getTime())
    const { out, err } = context
    if (context.json) {
      out.line(JSON.stringify(newest.map(jsonOf)))
      return exitCode.ok
    }
    const oneLine = (text: string | null) => out.style.safe(text ?? '').replace(/\s+/g, ' ')
    if (!out.isTerminal) {
      for (const { id, title, trashedAt, messages } of newest) {
        const until = new Date(trashedAt!.getTime() + trashGraceMs)
        out.line([id, oneLine(title), trashedAt!.toISOString(), messages, until.toISOString()].join('\t'))
      }
      return exitCode.ok
    }
    if (newest.length === 0) {
      if (!context.quiet) err.line('the trash is empty')
      return exitCode.ok
    }
    const ids = shortIds(newest.map(({ id }) => id))
    const rows = newest
      .toReversed()
      .map(({ id, title, trashedAt, messages }) => [
        ids.get(id)!,
        oneLine(title) || 'untitled',
        formatAge(trashedAt!, context.now()),
        formatDay(new Date(trashedAt!.getTime() + trashGraceMs)),
        formatInteger(messages),
      ])
    const columns = [
      { header: 'ID', paint: out.style.id },
      { header: 'TITLE', shrinksTo: 12, grows: true },
      { header: 'DELETED', align: 'right' },
      { header: 'UNTIL', align: 'right' },
      { header: 'MSGS', align: 'right' },
    ] as const
    const options = { dots: out.style.symbols.dots, paintHeader: out.style.faint }
    for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
    if (!context.quiet)
      err.line(
        `${plural(newest.length, 'conversation')} in the trash ${err.style.symbols.dot} back: ${skeinCommand(context)} restore <id>`,
      )
    return exitCode.ok
  })
}

function jsonOf({ id, title, directory, messages, tokens, updatedAt, trashedAt }: ListedConversation) {
  return {
    id,
    title,
    directory,
    messages,
    tokens,
    updated_at: updatedAt.toISOString(),
    trashed_at: trashedAt!.toISOString(),
    purged_after: new Date(trashedAt!.getTime() + trashGraceMs).toISOString(),
  }
}
