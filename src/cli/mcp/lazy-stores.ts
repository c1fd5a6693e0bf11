import { existsSync } from 'node:fs'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import type { CommandContext } from '../command-line/command-context.ts'

/** A store as a command opens it. */
type OpenedStore = Awaited<ReturnType<CommandContext['store']>>

/** The store of a command that answers calls for a long time. */
export interface LazyStores extends AsyncDisposable {
  /** Opens the store with the first call that needs it. One that is away is tried again by the next call.
   *  Reading does not create a file: until it exists, an empty store in memory is read. */
  open(purpose: 'read' | 'write'): Promise<OpenedStore>
  /** Waits until everything is stored. False if something could not be. */
  saved(): Promise<boolean>
}

export function createLazyStores(context: CommandContext): LazyStores {
  const { target, isFile } = context.location()
  let empty: Promise<OpenedStore> | undefined
  let own: OpenedStore | null = null
  return {
    async open(purpose) {
      if (own === null && purpose === 'read' && isFile && !existsSync(target)) {
        empty ??= import('../../stores/open.ts').then(({ openStore }) => openStore(':memory:'))
        return empty
      }
      own ??= await context.store()
      return own
    },
    saved: async () => own === null || waitUntilSaved(own, context),
    // `main` closes the command's own store.
    async [Symbol.asyncDispose]() {
      await (await empty)?.close()
    },
  }
}
