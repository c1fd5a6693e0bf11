import type { ModelRequest } from '../core/model.ts'
import type { ScriptedReply } from './scripted.ts'
import type { ScriptedMemory } from './scripted-memory.ts'

/** What an exchange of the dialogue needs to know. */
interface DialogueState {
  readonly memory: ScriptedMemory
  readonly tools: readonly string[]
}

type Exchange = readonly [
  question: RegExp,
  answer: (state: DialogueState, match: RegExpExecArray) => ScriptedReply | null,
]

const decisionMark = 'Noted as our decision:'

const tour = `Skein keeps every conversation. Five things to try here:

1. **Memory.** Say \`My name is Ada\`, leave with Ctrl+D, start \`skein\` again and ask \`What is my name?\`
2. **A talk.** Ask \`Why do our websockets drop at 02:00?\`, then say \`Use full jitter\`
3. **Branches.** \`/edit\` changes your last message on a new branch: say \`Use polling\`. \`/tree\` shows both
4. **Search.** \`/search jitter\` finds everything that you, models and tools said
5. **Tools.** In a project: \`skein chat --tools\`, then \`Which files mention TODO?\`

With a key, a real model answers instead of me.`

const diagnosis = `The certificate is reloaded at 02:00, and **all clients reconnect in the same second**. Three ways out:

| option | load at 02:00 | effort |
|---|---|---|
| full jitter | spread over 30 s | two lines |
| polling | 270 requests/s, always | two days |
| a proxy that keeps sockets | none | a new service |

I would start with full jitter.`

const jitter = `Each client waits a random time, up to a limit that doubles:

\`\`\`ts
const limit = Math.min(30_000, 500 * 2 ** attempt)
await sleep(Math.random() * limit)
\`\`\`

${decisionMark} full jitter, at most 30 s.`

const polling = `A request every 15 s needs no socket, and nothing can storm. It costs 270 requests/s all day.

${decisionMark} polling, every 15 s.`

/** The prepared dialogue: what Skein does, shown on one problem. The decision is remembered from the
 *  conversation, so each branch knows its own, and the search for files is a call of a real tool. */
const exchanges: readonly Exchange[] = [
  [/^(?:(?:give me|take|start) )?(?:a |the )?(?:tour|demo)\b[.!?]*$/i, () => tour],
  [
    /\bwhy\b.*\b(?:web ?sockets?|connections?|clients?)\b.*\b(?:drop|close|disconnect|reconnect)/i,
    () => diagnosis,
  ],
  [/\b(?:use|take|choose|try)\b.*\bjitter\b/i, () => jitter],
  [/\b(?:use|take|choose|try)\b.*\bpoll(?:ing)?\b/i, () => polling],
  [
    /\b(?:what|which)\b.*\b(?:decide|decided|decision|choose|chose)\b/i,
    ({ memory }) => {
      const decided = memory.answered.findLast(text => text.includes(decisionMark))
      const [, what] = new RegExp(`${decisionMark} (.+)\\.`).exec(decided ?? '') ?? []
      return what === undefined ? null : `We chose ${what}.`
    },
  ],
  [
    /\b(?:which|what) files? (?:mention|contain|use|have)s? ["'`]?([\w.-]+?)["'`]?[?.]*$/i,
    ({ tools }, [, text]) =>
      tools.includes('search_files')
        ? { calls: [{ name: 'search_files', input: { text: text!, case: 'ignored', limit: 5 } }] }
        : 'I cannot look into files here. Start me with tools: `skein chat --tools`',
  ],
]

/** The answer of the prepared dialogue; null if the question is not part of it. */
export function dialogueAnswer(
  asked: string,
  memory: ScriptedMemory,
  { tools = [] }: Pick<ModelRequest, 'tools'>,
): ScriptedReply | null {
  for (const [question, answer] of exchanges) {
    const match = question.exec(asked)
    if (match) return answer({ memory, tools: tools.map(({ name }) => name) }, match)
  }
  return null
}

/** What the dialogue says of a search through files: the places as a list. Null for any other result. */
export function dialogueResult({ name, output, failed }: DialogueCall): string | null {
  if (name !== 'search_files' || failed) return null
  const places = [...output.matchAll(/^(\S+:\d+): *(.*)$/gm)]
  if (places.length === 0) return null
  return `I found it here:\n\n${places.map(([, place, line]) => `- \`${place}\`  \`${line!.replaceAll('`', "'")}\``).join('\n')}`
}

interface DialogueCall {
  readonly name: string
  readonly output: string
  readonly failed: boolean
}
