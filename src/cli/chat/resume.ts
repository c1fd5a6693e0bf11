import { NotFoundError } from '../../core/errors.ts'
import { hasOption, type Run } from '../command-line/command.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { openSpeaker } from '../model/model-setup.ts'
import { chooseConversation, goOnWith } from '../target/choose-conversation.ts'
import { findNamed } from '../target/find-named.ts'
import { startChat } from './chat.ts'
import { openKeyboard } from './input/keyboard.ts'
import { chooseByHand } from './state/pick-conversation.ts'

/** `skein resume [id]`: picks a conversation and goes on with it. */
export const resume: Run = async (given, world) => {
  const [id] = given.arguments
  if (id === undefined && !world.canAsk)
    throw new UsageError('resume needs an id here', 'skein ls lists them')
  const speaker = await openSpeaker(given, world)
  const store = await world.store()
  const options = { speaker, system: null, name: null }
  if (id !== undefined) {
    const found = await findNamed(id, store, world)
    if (!found) throw new NotFoundError('id', id)
    const chosen = await goOnWith(id, found, { force: hasOption(given, 'force') }, store, world)
    return startChat(chosen, world, options)
  }
  const keyboard = openKeyboard(world, world.err)
  const named = await chooseByHand(store, keyboard, world, 'new one').finally(() => keyboard.close())
  if (world.signal.aborted) return exit.interrupted
  if (named === null) {
    return startChat(
      await chooseConversation({ arguments: [], options: { new: true } }, world),
      world,
      options,
    )
  }
  const found = await store.resolve(named)
  return startChat(await goOnWith(named, found, { force: true }, store, world), world, options)
}
