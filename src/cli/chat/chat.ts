import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { NotFoundError } from '../../core/errors.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { demoNote } from '../model/choose-model.ts'
import { openSpeaker, type Speaker } from '../model/model-setup.ts'
import { noteLine } from '../output/print.ts'
import { dataFolder, firstPlace } from '../store/store-location.ts'
import { type Chosen, chooseConversation } from '../target/choose-conversation.ts'
import { openKeyboard } from './input/keyboard.ts'
import { typedBefore } from './input/typed-before.ts'
import { runSlash } from './slash/run-slash.ts'
import { createTalker } from './state/chat-controller.ts'
import type { Chat } from './state/chat-state.ts'
import { sayHeader } from './state/say-header.ts'
import { takeTurn } from './take-turn.ts'
import { talkOnTerminal } from './talk-on-terminal.ts'

/** `skein chat`: talking until one leaves. */
export const chat: Run = async (given, world) => {
  if (world.json) throw new UsageError('chat has no --json', 'One answer as JSON: skein ask --json "…"')
  const speaker = await openSpeaker(given, world)
  const keptIn = hasOption(given, 'incognito') ? null : firstPlace(world)
  const chosen = await chooseConversation(given, world)
  if (chosen.word !== null) throw new NotFoundError('id', chosen.word)
  return startChat(chosen, world, {
    speaker,
    keptIn,
    system: textOption(given, 'system') ?? null,
    name: textOption(given, 'session') ?? null,
  })
}

export interface ChatOptions {
  readonly speaker: Speaker
  /** Where things will be kept, on the first run. */
  readonly keptIn?: string | null
  readonly system: string | null
  /** The name after `--session`, if there was one. */
  readonly name: string | null
  /** Told of the chat before anything is said in it. */
  onChat?(chat: Chat): void
}

/** Talks in a conversation that was chosen. Returns the exit code. */
export async function startChat(chosen: Chosen, world: World, options: ChatOptions): Promise<number> {
  const { err, quiet } = world
  const { speaker } = options
  const isIncognito = chosen.how === 'incognito'
  const say = (line: string) => {
    if (!quiet) err.line(line)
  }
  const store = isIncognito ? null : await world.store()
  const talker = createTalker({ world, store, chosen, speaker, system: options.system })
  // First of all: what is typed ahead should be read as it is meant.
  const keyboard = world.canAsk ? openKeyboard(world, err) : null
  const parts: Chat = {
    world,
    talker,
    keyboard,
    typed: typedBefore(isIncognito || !keyboard ? null : join(dataFolder(world.env), 'typed-lines')),
    name: options.name,
    later: [],
    say,
    note: text => say(noteLine(text, err)),
  }
  options.onChat?.(parts)
  try {
    if (speaker.choice.from === 'nothing') say(noteLine(demoNote, err))
    sayHeader(chosen, world, options.keptIn)
    const code = await (keyboard ? talkOnTerminal(parts, keyboard, chosen) : talkInLines(parts))
    keyboard?.close()
    return (await waitUntilSaved(store, world)) ? code : exit.failure
  } catch (error) {
    if (!world.signal.aborted) throw error
    return exit.interrupted
  } finally {
    keyboard?.close()
    await talker.close()
  }
}

/** Lines in, answers out, until the input ends. Somebody else's answer on the branch is gone beside, as nobody can be
 *  asked. A line that fails does not keep the next one from being said; the exit code tells. */
async function talkInLines(chat: Chat): Promise<number> {
  const { world } = chat
  let code: number = exit.ok
  const lines = createInterface({ input: world.stdin, crlfDelay: Number.POSITIVE_INFINITY, terminal: false })
  const stop = () => lines.close()
  world.signal.addEventListener('abort', stop)
  try {
    for await (const line of lines) {
      if (world.signal.aborted) break
      if (line.trim() === '') continue
      const done = await runSlash(chat, line)
      if (done.type === 'leave') break
      const words = done.type === 'send' ? done.words : null
      if (words === null) {
        if (done.type === 'failed') code = exit.failure
        continue
      }
      const ending = await takeTurn(chat, words, 'fork')
      if (ending === 'failed') code = exit.failure
      if (ending === 'interrupted' || ending === 'left') return exit.interrupted
    }
  } finally {
    world.signal.removeEventListener('abort', stop)
    lines.close()
  }
  return world.signal.aborted ? exit.interrupted : code
}
