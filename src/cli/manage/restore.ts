import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { plural } from '../output/number.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { withStore } from '../store/with-store.ts'
import { needTrashed } from '../target/find-named.ts'

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
