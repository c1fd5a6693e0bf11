import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { plural } from '../output/number.ts'
import { shortIdIn } from '../output/short-id.ts'
import { withStore } from '../store/with-store.ts'

/** Takes conversations out of the trash. All that were named are looked up before the first is touched. */
export const restore: Run = (given, world) => {
  return withStore(world, async store => {
    const found = []
    for (const text of given.arguments) {
      const { conversation, message } = await store.resolve(text)
      if (message !== null) throw new NotFoundError('conversation', text)
      found.push(conversation)
    }
    const results = []
    for (const { id, title, messages, trashedAt } of found) {
      const { keysTaken } = await store.restore(id as ConversationId)
      results.push({ id, title, messages, wasTrashed: trashedAt !== null, keysTaken })
    }
    if (world.json) {
      const json = results.map(({ id, wasTrashed, keysTaken }) => ({
        id,
        restored: wasTrashed,
        keys_taken: keysTaken,
      }))
      world.out.line(JSON.stringify(json))
      return exit.ok
    }
    if (world.quiet) return exit.ok
    const { style } = world.err
    for (const { id, title, messages, wasTrashed, keysTaken } of results) {
      const short = await shortIdIn(store, id)
      const name = style.title(`"${style.safe(title ?? 'untitled').replace(/\s+/g, ' ')}"`)
      if (!wasTrashed) world.err.line(`${name} is not in the trash`)
      else {
        const facts = [plural(messages, 'message'), `go on: ${style.id(`skein -c ${short}`)}`]
        world.err.line([`restored ${name}`, ...facts].join(` ${style.symbols.dot} `))
      }
      for (const key of keysTaken) {
        world.err.line(
          `${style.note(style.symbols.note)} its key ${style.safe(key)} belongs to another conversation now`,
        )
      }
    }
    return exit.ok
  })
}
