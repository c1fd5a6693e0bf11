import {
  type AgentSetting,
  type AgentSlashCommand,
  settingNamed,
  settingValueName,
} from '../../../acp/host/agent-settings.ts'
import type { Host } from '../../../acp/host/host-options.ts'
import { collapseSpaces } from '../../../core/collapse-spaces.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { cut, padEnd, widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import { newPicker } from '../input/picker.ts'
import { runPicker } from '../input/run-picker.ts'
import { type Chat, type NextStep, nextLine } from '../state/chat-state.ts'
import { type SlashCommand, untilStopped } from './slash-command.ts'

/** `/mode`: how the agent of another program works, such as `plan`. */
export const slashMode: SlashCommand = {
  name: 'mode',
  argument: '[name]',
  needs: 'nothing',
  of: 'other agent',
  help: 'show or change how the agent works',
  run: async (chat, name) => chooseSetting(chat, chat.controller.host!, 'mode', name),
  complete: async (chat, given) => settingValues(chat, 'mode', given),
}

/** `/set`: any setting of the agent of another program. */
export const slashSet: SlashCommand = {
  name: 'set',
  argument: '[option] [value]',
  needs: 'nothing',
  of: 'other agent',
  help: 'show or change an option of the agent',
  async run(chat, argument) {
    const host = chat.controller.host!
    const [, name = '', value = ''] = /^(\S*)\s*([\s\S]*)$/.exec(argument) ?? []
    if (name !== '') return chooseSetting(chat, host, name, value.trim())
    const offer = await offerIn(chat, host)
    if (offer === null) return nextLine
    if (offer.settings.length === 0) throw new UsageError(`${chat.controller.model.id} offers no options`)
    for (const line of settingLines(offer.settings, chat.context.out)) chat.context.out.line(line)
    return nextLine
  },
  async complete(chat, given) {
    const [name] = given
    if (name !== undefined) return settingValues(chat, name, given.slice(1))
    const offer = await chat.controller.host?.knownOffer(chat.controller.branch)
    return (offer?.settings ?? []).map(({ id }) => id)
  },
}

/** Changes a setting. Without a value, the user picks one; without a terminal, the choices are listed. */
export async function chooseSetting(chat: Chat, host: Host, name: string, typed: string): Promise<NextStep> {
  const { controller, context } = chat
  const offer = await offerIn(chat, host)
  if (offer === null) return nextLine
  const isOffered = offer.settings.some(({ id, category }) => id === name || category === name)
  if (!isOffered && (name === 'mode' || name === 'model'))
    throw new UsageError(`${controller.model.id} offers no ${name} to choose`, '/set lists its options')
  const setting = settingNamed(offer.settings, name)
  if (typed === '' && !chat.keyboard) {
    for (const line of choiceLines(setting, context.out)) context.out.line(line)
    return nextLine
  }
  const value = typed === '' ? await pickValue(chat, setting) : typed
  if (value === null) return nextLine
  const { settings } = await host.set(controller.branch, setting.id, value)
  const now = settings.find(({ id }) => id === setting.id) ?? setting
  chat.say(`${setting.id} is ${context.err.style.safe(settingValueName(now))} now`)
  return nextLine
}

async function offerIn(chat: Chat, host: Host) {
  const { controller } = chat
  return untilStopped(chat, controller.model.id, () => host.offer(controller.branch))
}

async function pickValue({ keyboard, context }: Chat, setting: AgentSetting): Promise<string | null> {
  const picker = newPicker({
    question: `Which ${setting.id}?`,
    choices: setting.choices.map(({ value, name, description }) => ({
      value,
      title: `${name}${value === setting.value ? ' (now)' : ''}`,
      facts: name === value ? [] : [value],
      alsoFinds: [value, description ?? ''],
      details: description === null ? [] : [['about', description] as const],
    })),
    scope: '',
    keys: 'enter choose · esc keep',
    ends: [],
  })
  const { by, choice } = await runPicker(picker, keyboard!, context.err)
  return by === 'enter' && choice ? choice.value : null
}

/** `mode   plan   ask, plan, code` */
function settingLines(settings: readonly AgentSetting[], { style, width }: Output): readonly string[] {
  const ids = Math.max(...settings.map(({ id }) => widthOf(id)))
  const values = Math.max(...settings.map(({ value }) => widthOf(value)))
  return settings.map(({ id, value, choices }) => {
    const start = `  ${padEnd(style.safe(id), ids)}  ${padEnd(style.safe(value), values)}`
    const room = width - widthOf(start) - 3
    const others = choices.map(one => one.value).join(', ')
    if (room < 12) return cut(start.trimEnd(), width - 1, style.symbols.dots)
    return `${start}  ${style.faint(cut(style.safe(others), room, style.symbols.dots))}`
  })
}

/** `* plan  Plan mode: …`, with a mark at the current value. */
function choiceLines({ value: now, choices }: AgentSetting, { style, width }: Output): readonly string[] {
  const column = Math.max(...choices.map(({ value }) => widthOf(value)))
  return choices.map(({ value, name, description }) => {
    const about = [name === value ? '' : name, description ?? ''].filter(text => text !== '').join(': ')
    const line = `${value === now ? '*' : ' '} ${padEnd(style.safe(value), column)}  ${collapseSpaces(style.safe(about))}`
    return cut(line.trimEnd(), width - 1, style.symbols.dots)
  })
}

/** The values of a setting, as far as they are known. */
export async function settingValues(
  { controller: { host, branch } }: Chat,
  name: string,
  given: readonly string[],
): Promise<readonly string[]> {
  const offer = given.length > 0 ? null : await host?.knownOffer(branch)
  return offer ? settingNamed(offer.settings, name).choices.map(({ value }) => value) : []
}

/** The agent's own slash commands, as far as they are known. With `wait`, the agent is started for them. */
export async function agentCommandsIn(chat: Chat, wait = false): Promise<readonly AgentSlashCommand[]> {
  const { host, branch } = chat.controller
  if (!host) return []
  const known = await host.knownOffer(branch)
  if (known && (known.commands.length > 0 || !wait)) return known.commands
  return wait ? ((await offerIn(chat, host))?.commands ?? []) : []
}
