import { attachFile } from '../../attach/attach-file.ts'
import { attachedText, untakenText } from '../../attach/attached-text.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { plural } from '../../output/number.ts'
import { attach } from '../state/attached-files.ts'
import { type Chat, nextLine } from '../state/chat-state.ts'
import type { SlashCommand } from './slash-command.ts'

export const slashAttach: SlashCommand = {
  name: 'attach',
  argument: '[path]',
  needs: 'nothing',
  help: 'send a file with your next message; without a path: list them. @path in a message does the same',
  takesPath: true,
  async run(chat, argument) {
    const { context, controller } = chat
    const { safe } = context.err.style
    const path = argument.replace(/^(["'])(.*)\1$/, '$2').replace(/^@/, '')
    if (path === '') {
      if (chat.attached.length === 0) throw new UsageError('nothing is attached', '/attach notes.txt')
      for (const file of chat.attached) context.out.line(`  ${safe(attachedText(file))}`)
      return nextLine
    }
    const file = await attachFile(path, context)
    attach(chat, [file])
    chat.say(`attached ${safe(attachedText(file))}: it goes with your next message. /detach takes it back`)
    const untaken = controller.host ? null : untakenText([file], controller.model)
    if (untaken !== null) chat.note(untaken)
    return nextLine
  },
}

export const slashDetach: SlashCommand = {
  name: 'detach',
  argument: '[name]',
  needs: 'nothing',
  help: 'take back one attached file, or all',
  async run(chat, name) {
    const kept = name === '' ? [] : chat.attached.filter(file => file.name !== name)
    const taken = chat.attached.length - kept.length
    if (taken === 0)
      throw new UsageError(
        name === '' ? 'nothing is attached' : `${name} is not attached`,
        '/attach lists files',
      )
    chat.attached = kept
    chat.say(`took back ${plural(taken, 'file')}`)
    return nextLine
  },
  complete: async (chat: Chat) => chat.attached.flatMap(({ name }) => name ?? []),
}
