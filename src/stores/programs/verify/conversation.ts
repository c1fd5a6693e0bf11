import type { Finding, Severity } from '../../../core/finding.ts'
import { subtreeRanges } from '../../../core/runs.ts'
import type { Program } from '../../engine/engine.ts'
import type { RawConversationRow } from '../../engine/statements-verify.ts'
import { runStarts } from '../structure.ts'
import { type Findings, findingsOf, guarded, tellsOfDamage } from './findings.ts'
import { checkBranches, checkDerived, checkSummaries } from './records.ts'
import { walkMessages } from './walk.ts'

export interface ConversationCheck {
  readonly messages: number
  readonly erased: number
  readonly findings: readonly Finding[]
  readonly more: Readonly<Record<Severity, number>>
}

export interface ConversationCheckOptions {
  /** Only so many messages, the newest. */
  readonly newest: number
  /** Told how many messages were checked; may be told again from the start. */
  readonly onPage: (messages: number) => void
}

/** Checks one conversation and all that belongs to it. Where a part cannot be read, the others still are, if whoever runs
 *  this throws the engine's errors into it. */
export function* checkConversation(
  conversation: RawConversationRow,
  { newest, onPage }: ConversationCheckOptions,
): Program<ConversationCheck> {
  const findings = findingsOf(conversation.id)
  const above = Math.max(-1, conversation.next_seq - 1 - newest)
  let [messages, erased] = [0, 0]
  yield* guarded(findings, 'its messages', function* () {
    const walked = yield* walkMessages(conversation, findings, { above, onPage: counted })
    erased = walked.erased
    if (above >= 0 || conversation.purging === 1 || findings.has('damage')) return
    checkCounter('messages', conversation.messages, walked.messages, findings)
    checkCounter('tokens', conversation.tokens, walked.tokens, findings)
  })
  yield* guarded(findings, 'its branches', () => checkBranches(conversation, findings))
  if (above < 0) {
    yield* guarded(findings, 'what belongs to it', () => checkDerived(conversation, findings))
    yield* guarded(findings, 'its summaries', () => checkSummaries(conversation, findings))
  }
  return { messages, erased, findings: yield* withStanding(conversation, findings), more: findings.more }

  function counted(done: number): void {
    messages = done
    onPage(done)
  }
}

function checkCounter(name: string, stored: number, counted: number, findings: Findings): void {
  if (stored !== counted) findings.add('repairable', `${name} is ${stored}, and should be ${counted}`)
}

/** Adds to each damaged message which others stand on it, as far as the shape of the conversation can be read. */
function* withStanding(conversation: RawConversationRow, { list }: Findings): Program<readonly Finding[]> {
  const isAsked = ({ severity, seq, branch }: Finding) =>
    severity === 'damage' && seq !== null && branch === null
  if (!list.some(isAsked)) return list
  try {
    const starts = yield* runStarts(conversation.conv)
    return list.map(finding => {
      if (!isAsked(finding)) return finding
      const seq = finding.seq!
      const ranges = subtreeRanges(starts, conversation.next_seq, [seq])
        .map(({ lo, hi }) => ({ lo: lo === seq ? lo + 1 : lo, hi }))
        .filter(({ lo, hi }) => lo <= hi)
      return { ...finding, standing: ranges }
    })
  } catch (error) {
    if (!tellsOfDamage(error)) throw error
    return list
  }
}
