import { setImmediate as printed } from 'node:timers/promises'
import { type ApprovalMemory, type Approve, allowTools } from '../../agent/approval/approval.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../core/approval.ts'
import { type Keyboard, type KeyStroke, openKeyboard } from '../chat/input/keyboard.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { offersAnswer, questionLines } from './question-lines.ts'
import { rememberedApprovals } from './remembered-answers.ts'

/** Asks the person at the terminal before a tool changes something. Without a terminal, only the tools that
 *  are allowed beforehand run. */
export interface PersonApproval {
  readonly approve: Approve
  /** The answers so far, and the tools that are allowed beforehand. */
  readonly approvals: ApprovalMemory
  /** Uses the keyboard of a chat from now on. By default, one is opened for each question. */
  useKeyboard(keyboard: Keyboard): void
}

/** `allowed` are the names of tools that run without asking; `all` means every tool. */
export function personApproval(context: CommandContext, allowed: readonly string[]): PersonApproval {
  const answered = rememberedApprovals(context)
  const beforehand = allowTools(allowed)
  let shared: Keyboard | null = null
  return {
    approvals: {
      async allows(request) {
        const signal = AbortSignal.any([])
        return (await beforehand(request, signal)) === 'allow' || answered.allows(request)
      },
      remember: answered.remember,
    },
    async approve(request, signal) {
      if (!context.canAsk) return 'deny'
      // The output before the question has to be on the screen first.
      await printed()
      const keyboard = shared ?? openKeyboard(context, context.err)
      try {
        return await ask(request, keyboard, context, signal)
      } finally {
        if (keyboard !== shared) keyboard.close()
      }
    },
    useKeyboard(keyboard) {
      shared = keyboard
    },
  }
}

async function ask(
  request: ApprovalRequest,
  keyboard: Keyboard,
  { err }: CommandContext,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { style } = err
  const lines = questionLines(request, err)
  for (const line of lines.slice(0, -1)) err.line(line)
  err.write(`${lines.at(-1)} `)
  const stopped = Promise.withResolvers<KeyStroke>()
  const stop = () => stopped.resolve({ type: 'closed' })
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const answer = answerBy(await Promise.race([keyboard.nextFresh(), stopped.promise]))
      if (answer === null || !offersAnswer(request, answer)) continue
      if (answer === 'allow') keyboard.dropRest('es')
      if (answer === 'deny') keyboard.dropRest('o')
      err.line(style.faint(signal.aborted ? '' : answerWords[answer]))
      return answer
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const answerWords: Readonly<Record<ApprovalAnswer, string>> = {
  allow: 'yes',
  allow_in_conversation: 'yes, in this conversation',
  allow_always: 'yes, always in this project. To undo: skein approvals remembered',
  deny: 'no',
}

const keys: Readonly<Record<string, ApprovalAnswer>> = {
  y: 'allow',
  c: 'allow_in_conversation',
  a: 'allow_always',
  n: 'deny',
}

/** Null for a key that is not an answer: a mistyped key must not decide. */
function answerBy(stroke: KeyStroke): ApprovalAnswer | null {
  if (stroke.type === 'closed') return 'deny'
  // A fast hand may have typed several keys at once: the first one that is an answer counts.
  if (stroke.type === 'text')
    return [...stroke.text.toLowerCase()].map(key => keys[key]).find(Boolean) ?? null
  if (stroke.type !== 'key') return null
  // In a chat, Ctrl+C reaches the turn, whose signal ends the question. Here it is a key.
  if (stroke.name === 'interrupt') process.kill(process.pid, 'SIGINT')
  return stroke.name === 'escape' || stroke.name === 'interrupt' || stroke.name === 'end-of-input'
    ? 'deny'
    : null
}
