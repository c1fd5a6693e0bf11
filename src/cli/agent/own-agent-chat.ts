import { readConfig } from '../../config/read-config.ts'
import { NotFoundError } from '../../core/errors.ts'
import { personApproval } from '../approval/person-approval.ts'
import { startChat } from '../chat/chat.ts'
import { type Args, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { chooseModel, openChoice } from '../model/choose-model.ts'
import { createModelSetup } from '../model/model-setup.ts'
import { newStorePath } from '../store/store-location.ts'
import { chooseConversation } from '../target/choose-conversation.ts'
import { type NamedOwnAgent, openOwnTools } from './own-agent-tools.ts'

/** `skein agent <name>` for an agent of ours: a chat with its model, system prompt and tools. */
export async function chatWithOwn(own: NamedOwnAgent, args: Args, context: CommandContext): Promise<number> {
  for (const option of ['mode', 'set', 'add-dir', 'tell', 'name', 'allow'])
    if (hasOption(args, option))
      throw new UsageError(`--${option} is for agents of other programs`, `${own.name} is a model with tools`)
  const config = await readConfig(context.cwd, context.env)
  const named = textOption(args, 'model') ?? own.settings.model
  const choice = chooseModel({ arguments: [], options: { model: named } }, context.env, config)
  const model = await openChoice(choice, context, config)
  const keptIn = newStorePath(context)
  const chosen = await chooseConversation(args, context)
  if (chosen.prompt !== null) throw new NotFoundError('id', chosen.prompt)
  const setup = createModelSetup(model, choice, config, {
    system: textOption(args, 'system') ?? own.settings.system,
    tools: () => openOwnTools(own, config, context),
    // Its entry names the tools that run without asking, and it has no others.
    approval: personApproval(context, ['all']),
  })
  return startChat(chosen, context, { setup, keptIn, name: textOption(args, 'session') ?? null })
}
