import { PassThrough } from 'node:stream'
import type { ClientCapabilities } from '@agentclientprotocol/sdk/unstable'
import { z } from 'zod'
import { serve } from '../../../src/acp/serve/serve.ts'
import type { ServeOptions } from '../../../src/acp/serve/serve-options.ts'
import { type Tools, tool } from '../../../src/agent/tools/tool.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type ScriptedOptions, scripted } from '../../../src/models/scripted.ts'
import { openStore } from '../../../src/stores/open.ts'
import { type Editor, editorOn } from './editor.ts'

export interface Desk {
  readonly store: Store
  readonly editor: Editor
  readonly logged: readonly string[]
  /** Another editor on the same store. */
  another(): Promise<Editor>
  /** Disconnects the editors. Resolves when their turns are stored. */
  leave(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface DeskOptions {
  readonly script?: ScriptedOptions['script']
  readonly tools?: Tools
  readonly served?: Partial<ServeOptions>
  /** What the editors do for an agent. */
  readonly can?: Pick<ClientCapabilities, 'fs' | 'terminal'>
  /** The directory of the sessions. Default: /. */
  readonly cwd?: string
}

/** An editor and our agent in one process, with their own store and the models `scripted` and `other`. */
export async function desk(options: DeskOptions = {}): Promise<Desk> {
  const { script, tools = {}, served = {}, can = {}, cwd = '/' } = options
  const store = await openStore(':memory:')
  const logged: string[] = []
  const wires: PassThrough[] = []
  const serving: Promise<void>[] = []
  async function another(): Promise<Editor> {
    const [there, back] = [new PassThrough(), new PassThrough()]
    wires.push(there)
    serving.push(
      serve(
        {
          store,
          version: '1.2.3',
          models: [
            { id: 'scripted', name: 'scripted' },
            { id: 'other', name: 'The other' },
          ],
          agentParts: async id => ({ model: scripted({ id, ...(script ? { script } : {}) }), tools }),
          log: line => void logged.push(line),
          ...served,
        },
        { input: there, output: back },
      ),
    )
    return editorOn(there, back, cwd, can)
  }
  const editor = await another()
  async function leave(): Promise<void> {
    for (const wire of wires) wire.end()
    await Promise.all(serving)
  }
  return {
    store,
    editor,
    logged,
    another,
    leave,
    async [Symbol.asyncDispose]() {
      await leave()
      await store.close()
    },
  }
}

/** A tool that records whether it has run. */
export function counter(): { readonly tools: Tools; readonly runs: () => number } {
  let runs = 0
  return {
    runs: () => runs,
    tools: {
      count: tool({
        description: 'Counts.',
        input: z.object({ by: z.number() }),
        run: ({ by }) => {
          runs += by
          return `counted ${runs}`
        },
      }),
    },
  }
}
