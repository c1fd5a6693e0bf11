import { type Given, textOption } from '../command.ts'
import { exit } from '../exit.ts'
import { toolsOf } from '../talk/configured-tools.ts'
import { noteLine } from '../talk/header.ts'
import { demoNote, modelFor, openNamed } from '../talk/model.ts'
import { settingsOf } from '../talk/speaker.ts'
import { UsageError } from '../usage-error.ts'
import { version } from '../version.ts'
import type { World } from '../world.ts'
import { offeredModels } from './offered-models.ts'

/** Our own agent, until the editor has gone. Standard output is the protocol's, so that everything for people goes to stderr. */
export async function serveOwn(given: Given, world: World): Promise<number> {
  const system = textOption(given, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { serve } = await import('../../acp/serve/serve.ts')
  const { choice, config } = await modelFor(given, world)
  const store = await world.store()
  const say = (note: string) => {
    if (!world.quiet) world.err.line(noteLine(note, world.err))
  }
  if (choice.from === 'nothing') say(demoNote)
  if (world.stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  const tools = toolsOf(config, world)
  try {
    await serve(
      {
        store,
        version: version(),
        models: offeredModels(choice, world.env),
        log: say,
        async speaking(model) {
          return {
            model: await openNamed(model, world, choice.aliases),
            tools: (await tools).tools,
            ...settingsOf(config),
            ...(system === undefined ? {} : { system }),
          }
        },
      },
      { input: world.stdin, output: world.out.stream, signal: world.signal },
    )
  } finally {
    await (await tools).close()
    // Whoever stops us may keep the other end open: nobody reads it any more.
    world.stdin.destroy()
  }
  return exit.ok
}
