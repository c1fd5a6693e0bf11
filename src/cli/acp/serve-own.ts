import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Given, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { version } from '../command-line/version.ts'
import { chooseModel, demoNote, openNamed } from '../model/choose-model.ts'
import { toolsOf } from '../model/configured-tools.ts'
import { settingsOf } from '../model/model-setup.ts'
import { noteLine } from '../output/print.ts'
import { offeredModels } from './offered-models.ts'

/** Our own agent, until the editor has gone. Standard output is the protocol's, so that everything for people
 *  goes to stderr. */
export async function serveOwn(given: Given, world: World): Promise<number> {
  const system = textOption(given, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { serve } = await import('../../acp/serve/serve.ts')
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(world.cwd, world.env)
  const choice = chooseModel(given, world.env, config)
  const store = await world.store()
  const say = (note: string) => {
    if (!world.quiet) world.err.line(noteLine(note, world.err))
  }
  if (choice.from === 'nothing') say(demoNote)
  if (world.stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  using stop = stopOnInterrupt(world)
  const gone = new AbortController()
  const tools = toolsOf(config, { ...world, signal: AbortSignal.any([stop.signal, gone.signal]) })
  // Whoever speaks is told why there are none.
  tools.catch(() => undefined)
  try {
    await serve(
      {
        store,
        version: version(),
        models: offeredModels(choice, world.env),
        log: say,
        async speaking(model) {
          return {
            // Not before: an editor shows what is answered to a prompt, and of an agent that has ended only
            // that it has.
            model: await openNamed(model, world, choice.aliases).catch(inOneSentence),
            tools: (await tools).tools,
            ...settingsOf(config),
            ...(system === undefined ? {} : { system }),
          }
        },
      },
      { input: world.stdin, output: world.out.stream, signal: stop.signal },
    )
  } finally {
    gone.abort()
    await (await tools.catch(() => null))?.close()
  }
  return (await waitUntilSaved(store, world)) ? exit.ok : exit.failure
}

/** What to do stands beside a usage error, where a terminal looks for it and an editor does not. */
function inOneSentence(error: unknown): never {
  throw error instanceof UsageError ? new Error(`${error.message}. ${error.hint}`) : error
}
