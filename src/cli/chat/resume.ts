import { NotFoundError } from '../../core/errors.ts'
import { hasOption, type Run } from '../command.ts'
import { exit } from '../exit.ts'
import { chooseConversation, goOnWith } from '../talk/choose.ts'
import { findNamed } from '../talk/find-named.ts'
import { openSpeaker } from '../talk/speaker.ts'
import { UsageError } from '../usage-error.ts'
import { startChat } from './chat.ts'
import { chooseByHand } from './choose-by-hand.ts'
import { openKeyboard } from './keyboard.ts'

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
