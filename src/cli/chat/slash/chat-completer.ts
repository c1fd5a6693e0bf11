import type { Completer } from '../input/complete.ts'
import type { Chat } from '../state/chat-state.ts'
import { slashCommands } from './index.ts'

/** What Tab offers: `/` commands, and behind them branches and ids. Nothing in the middle of prose. */
export function chatCompleter(chat: Chat): Completer {
  return async (before, word) => {
    if (before === '' && word.startsWith('/')) return slashCommands.map(({ name }) => `/${name}`)
    const name = /^\/([a-z]+)\s+$/i.exec(before)?.[1]
    const command = slashCommands.find(one => one.name === name?.toLowerCase())
    try {
      return (await command?.complete?.(chat)) ?? []
    } catch {
      // Nothing has been said here yet, or the store is busy: Tab then offers nothing.
      return []
    }
  }
}
