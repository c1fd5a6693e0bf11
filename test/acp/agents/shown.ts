import { timesIn } from './step.ts'

/** A message that an editor shows. */
export interface ShownMessage {
  readonly role: 'user' | 'assistant' | 'thought' | 'tool'
  readonly text: string
  /** The agent's id for it, or the call's. */
  readonly id: string | null
}

/** The thread of one session in an editor, as editors build it: consecutive chunks of one speaker are joined,
 *  a call is one line, and nothing is compared with earlier messages. */
export interface Thread {
  readonly messages: readonly ShownMessage[]
  /** The person's own prompt, which an editor shows when it is sent. */
  say(text: string): void
  hear(update: unknown): void
  /** Begins anew, as before a load. */
  clear(): void
  /** How often this text is shown. */
  times(text: string): number
}

interface Update {
  readonly sessionUpdate?: string
  readonly content?: { readonly type?: string; readonly text?: string } | null
  readonly messageId?: string | null
  readonly toolCallId?: string
  readonly title?: string
  readonly status?: string
}

const speakers = {
  user_message_chunk: 'user',
  agent_message_chunk: 'assistant',
  agent_thought_chunk: 'thought',
} as const

export function openThread(): Thread {
  let messages: ShownMessage[] = []
  /** The person has sent a prompt: the next update begins a new message. */
  let isNew = true
  const calls = new Map<string, { readonly title: string; readonly status: string }>()

  function chunk(role: ShownMessage['role'], text: string, id: string | null): void {
    const last = messages.at(-1)
    const goesOn = !isNew && last?.role === role && (last.id === id || last.id === null || id === null)
    isNew = false
    if (goesOn) messages[messages.length - 1] = { role, text: last.text + text, id: last.id ?? id }
    else messages.push({ role, text, id })
  }

  function call(id: string, news: Update): void {
    const { title = '', status = '' } = { ...calls.get(id), ...news }
    calls.set(id, { title, status })
    const at = messages.findIndex(one => one.role === 'tool' && one.id === id)
    const line = { role: 'tool', text: `${title} (${status})`, id } as const
    if (at === -1) messages.push(line)
    else messages[at] = line
  }

  return {
    get messages() {
      return messages
    },
    say(text) {
      messages.push({ role: 'user', text, id: null })
      isNew = true
    },
    hear(heard) {
      const update = heard as Update
      const speaker = speakers[update.sessionUpdate as keyof typeof speakers]
      const { content, messageId = null, toolCallId } = update
      if (speaker) chunk(speaker, content?.text ?? `[${content?.type}]`, messageId)
      else if (toolCallId !== undefined) call(toolCallId, update)
    },
    clear() {
      messages = []
      calls.clear()
      isNew = true
    },
    times: text => messages.reduce((sum, message) => sum + timesIn(message.text, text), 0),
  }
}
