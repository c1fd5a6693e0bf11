import { type ApprovalMemory, approvalMemory } from '../../agent/approval/approval.ts'
import type { Environment } from '../../config/folder.ts'
import type { ApprovalRequest } from '../../core/approval.ts'
import { sha256Hex } from '../../core/hash.ts'
import { isPlainObject, type Json } from '../../core/json.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { projectFolder } from '../target/scope.ts'
import { readStateFile, writeStateFile } from '../trust/state-file.ts'

/** An answer that holds for longer than one call. It is kept in the user's state folder, never in a
 *  conversation: an imported conversation must not bring permissions with it. */
export interface RememberedAnswer {
  /** Identifies the answer, to remove it. */
  readonly id: string
  /** The project folder in which it holds. */
  readonly project: string
  /** The conversation in which it holds. Null: in all of the project. */
  readonly conversation: string | null
  /** Which calls it covers: those with this scope. */
  readonly scope: string
  /** In ISO 8601. */
  readonly at: string
}

const name = 'permissions.json'

/** Remembers answers over the end of the process. Without a store, an answer for a conversation holds until
 *  the process ends. */
export function rememberedApprovals(context: Pick<CommandContext, 'cwd' | 'env' | 'now'>): ApprovalMemory {
  const { env } = context
  const inProcess = approvalMemory()
  const project = projectFolder(context.cwd, env)
  return {
    async allows(request) {
      if (await inProcess.allows(request)) return true
      return rememberedAnswers(env).some(one => isFor(one, request, project))
    },
    async remember(request, answer) {
      await inProcess.remember(request, answer)
      const { conversationId, scope, reason } = request
      const isAlways = answer === 'allow_always'
      // A call with a reason, such as a file outside of the project, needs a person each time.
      if (isAlways ? reason !== null : conversationId === null) return
      const conversation = isAlways ? null : conversationId
      const id = sha256Hex(JSON.stringify([project, conversation, scope])).slice(0, 8)
      const others = rememberedAnswers(env).filter(one => one.id !== id)
      const at = new Date(context.now()).toISOString()
      write([...others, { id, project, conversation, scope, at }], env)
    },
  }
}

function isFor(one: RememberedAnswer, request: ApprovalRequest, project: string): boolean {
  if (one.scope !== request.scope) return false
  if (one.conversation !== null) return one.conversation === request.conversationId
  return one.project === project && request.reason === null
}

/** All answers, oldest first. */
export function rememberedAnswers(env: Environment): readonly RememberedAnswer[] {
  const { answers } = readStateFile(name, env)
  return Array.isArray(answers) ? (answers as readonly unknown[]).filter(isAnswer) : []
}

/** Removes an answer. */
export function forgetAnswer({ id }: RememberedAnswer, env: Environment): void {
  write(
    rememberedAnswers(env).filter(one => one.id !== id),
    env,
  )
}

function write(answers: readonly RememberedAnswer[], env: Environment): void {
  writeStateFile(name, { answers: answers.map(one => ({ ...one })) }, env)
}

function isAnswer(value: unknown): value is RememberedAnswer {
  if (!isPlainObject(value as Json)) return false
  const { id, project, conversation, scope, at } = value as Record<string, unknown>
  return (
    [id, project, scope, at].every(one => typeof one === 'string') &&
    (conversation === null || typeof conversation === 'string')
  )
}
