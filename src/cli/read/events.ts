import { eventJson } from '../../api/event.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import { type EventType, eventTypes } from '../../core/event.ts'
import type { JsonObject } from '../../core/json.ts'
import {
  type Args,
  type CommandHandler,
  limitOption,
  textOption,
  textOptions,
} from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { printJson, printNote, tsvField } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { formatTime } from '../output/time.ts'
import { withStore } from '../store/with-store.ts'
import { namedOrNewest } from '../target/newest-here.ts'

/** `skein events`: lists the trace records of a conversation, newest last for people and newest first for
 *  programs. */
export const eventsCommand: CommandHandler = (args, context) => {
  const types = typesOf(args)
  const limit = limitOption(args, 50, 10_000)
  const after = textOption(args, 'after')
  return withStore(context, async store => {
    const found = await namedOrNewest(args.arguments[0], store, context)
    if (found === null) throw new UsageError('events needs an id here', 'skein ls --all lists them')
    const { conversation } = found
    const { items, next } = await store.listEvents(conversation.id, {
      order: 'descending',
      limit,
      ...(types.length > 0 && { types }),
      ...(after !== undefined && { after }),
    })
    if (context.json) {
      printJson(context, { conversation: conversation.id, events: items.map(eventJson), next })
      return exitCode.ok
    }
    const { out } = context
    if (out.isTerminal) {
      const rows = items
        .toReversed()
        .map(event => [formatTime(event.createdAt), event.type, out.style.safe(dataText(event.data))])
      const columns = [{ paint: out.style.faint }, { paint: out.style.id }, { shrinksTo: 12 }]
      for (const line of tableLines(rows, columns, out.width, { dots: out.style.symbols.dots }))
        out.line(line)
    } else
      for (const event of items) {
        const fields = [`${event.n}`, event.createdAt.toISOString(), event.type, JSON.stringify(event.data)]
        out.line(fields.map(field => tsvField(context, field)).join('\t'))
      }
    if (items.length === 0)
      printNote(context, `no events${types.length > 0 ? ` of type ${types.join(', ')}` : ''}`)
    if (next !== null) printNote(context, `older ones: --after ${next}`)
    return exitCode.ok
  })
}

function typesOf(args: Args): readonly EventType[] {
  return textOptions(args, 'type')
    .flatMap(text => text.split(','))
    .map(text => {
      const type = text.trim()
      if (isEventType(type)) return type
      throw new UsageError(`there is no event type ${type}`, `There are ${eventTypes.join(', ')}`)
    })
}

function isEventType(text: string): text is EventType {
  return (eventTypes as readonly string[]).includes(text)
}

/** `outcome: injected, told: 2`. */
function dataText(data: JsonObject): string {
  const parts = Object.entries(data).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${name}: ${text}`
  })
  return collapseSpaces(parts.join(', '))
}
