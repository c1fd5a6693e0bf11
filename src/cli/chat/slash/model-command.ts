import { modelName } from '../../../core/model-name.ts'
import { type KnownModel, knownModels } from '../../model/known-models.ts'
import { newPicker } from '../input/picker.ts'
import { runPicker } from '../input/run-picker.ts'
import { type Chat, nextLine } from '../state/chat-state.ts'
import { chooseSetting, settingValues } from './agent-commands.ts'
import type { SlashCommand } from './slash-command.ts'

/** `/model`: which model answers. Without a name, the user picks one. */
export const slashModel: SlashCommand = {
  name: 'model',
  argument: '[name]',
  needs: 'nothing',
  help: 'pick a model, or name one; it answers from here on',
  async run(chat, typed) {
    const { controller, context } = chat
    if (controller.host) return chooseSetting(chat, controller.host, 'model', typed)
    if (typed === '' && !chat.keyboard) {
      context.out.line(context.out.style.safe(controller.model.id))
      return nextLine
    }
    const name = typed === '' ? await pickModel(chat) : typed
    if (name === null) return nextLine
    await controller.useModel(name)
    chat.say(`${context.err.style.safe(modelName(controller.model.id))} answers from here on`)
    return nextLine
  },
  async complete(chat, given) {
    if (chat.controller.host) return settingValues(chat, 'model', given)
    return modelsIn(chat).map(({ name, id, missingKey }) => ({
      text: name,
      about: aboutModel(id, name, missingKey),
    }))
  },
}

function modelsIn({ controller, context }: Chat): readonly KnownModel[] {
  return knownModels(controller.config, context.env)
}

/** `anthropic/claude-sonnet-5-5 · needs ANTHROPIC_API_KEY` */
function aboutModel(id: string, name: string, missingKey: string | null): string {
  const parts = [id === name ? '' : id, missingKey === null ? '' : `needs ${missingKey}`]
  if (id === 'scripted') parts.push('the built-in demo model')
  return parts.filter(Boolean).join(' · ')
}

/** The models whose keys are set come first. */
async function pickModel(chat: Chat): Promise<string | null> {
  const { keyboard, context, controller } = chat
  const now = controller.model.id
  const models = modelsIn(chat).toSorted(
    (a, b) => Number(a.missingKey !== null) - Number(b.missingKey !== null),
  )
  const picker = newPicker({
    question: 'Which model?',
    choices: models.map(({ name, id, missingKey }) => ({
      value: name,
      title: `${name}${id === now ? ' (now)' : ''}`,
      facts: [missingKey === null ? '' : `needs ${missingKey}`],
      alsoFinds: [id],
      details: [
        ...(id === name ? [] : [['model', id] as const]),
        ...(missingKey === null ? [] : [['needs', missingKey] as const]),
      ],
    })),
    scope: '',
    keys: 'enter choose · esc keep · any other: /model openai/gpt-5.5',
    ends: [],
  })
  const { by, choice } = await runPicker(picker, keyboard!, context.err)
  return by === 'enter' && choice ? choice.value : null
}
