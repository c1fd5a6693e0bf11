import { trashGraceMs } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { formatInteger, plural } from '../output/number.ts'
import { shortIds, uniqueShortId } from '../output/short-id.ts'
import { tableLines } from '../output/table.ts'
import { formatAge, formatDay } from '../output/time.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { needTrashed } from '../target/find-named.ts'
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

/** `skein restore`: takes conversations out of the trash. Resolves all names before it restores any. */
export const restoreCommand: CommandHandler = (args, context) => {
  return withStore(context, async store => {
    const found = []
    for (const text of args.arguments) {
      const { conversation, message } = await needTrashed(text, store, context)
      if (message !== null) throw new NotFoundError('conversation', text)
      found.push(conversation)
    }
    const results = []
    for (const { id, title, messages, trashedAt } of found) {
      const { keysTaken } = await store.restore(id as ConversationId)
      results.push({ id, title, messages, wasTrashed: trashedAt !== null, keysTaken })
    }
    if (context.json) {
      const json = results.map(({ id, wasTrashed, keysTaken }) => ({
        id,
        restored: wasTrashed,
        keys_taken: keysTaken,
      }))
      context.out.line(JSON.stringify(json))
      return exitCode.ok
    }
    if (context.quiet) return exitCode.ok
    const { style } = context.err
    for (const { id, title, messages, wasTrashed, keysTaken } of results) {
      const short = await uniqueShortId(store, id)
      const name = style.title(`"${style.safe(title ?? 'untitled').replace(/\s+/g, ' ')}"`)
      if (!wasTrashed) context.err.line(`${name} is not in the trash`)
      else {
        const facts = [
          plural(messages, 'message'),
          `continue: ${style.id(`${skeinCommand(context)} -c ${short}`)}`,
        ]
        context.err.line([`restored ${name}`, ...facts].join(` ${style.symbols.dot} `))
      }
      for (const key of keysTaken) {
        context.err.line(
          `${style.note(style.symbols.note)} its key ${style.safe(key)} belongs to another conversation now`,
        )
      }
    }
    return exitCode.ok
  })
}
