import { CorruptError, SkeinError } from '../../core/errors.ts'
import { countDependents, type Finding, type Severity, type Verified } from '../../core/finding.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Verifier } from '../../core/ports.ts'
import { hasOption, type Run } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { progressLine } from '../output/progress-line.ts'
import { withStore } from '../store/with-store.ts'
import { tellFindings } from './findings-lines.ts'

/** How many messages a quick check looks at. */
const sample = 1_000

/** Checks that everything is as it was stored. Exit 1 if something is damaged. */
export const verify: Run = async (given, world) => {
  try {
    return await withStore(world, store => verifyIn(store, world, given.arguments, hasOption(given, 'quick')))
  } catch (error) {
    if (!isDamage(error)) throw error
    const what = `it cannot be opened: ${error.message}`
    const findings = [{ ...nowhere, severity: 'damage' as const, what }]
    await tell(null, world, { ...nothing, findings: { damage: 1, repairable: 0, note: 0 } }, findings, 0)
    return exit.failure
  }
}

async function verifyIn(
  store: ConversationReader & Verifier,
  world: World,
  named: readonly string[],
  isQuick: boolean,
): Promise<number> {
  const began = performance.now()
  const conversations: ConversationId[] = []
  for (const text of named) conversations.push((await store.resolve(text)).conversation.id)
  const findings: Finding[] = []
  const progress = progressLine(world, 'checking', 'messages')
  try {
    const verified = await store.verify({
      ...(named.length > 0 && { conversations }),
      ...(isQuick && { newest: sample }),
      signal: world.signal,
      onFinding: finding => findings.push(finding),
      onProgress: ({ messages, total }) => progress.show(messages, total),
    })
    progress.end()
    await tell(store, world, verified, findings, performance.now() - began)
    return verified.findings.damage > 0 ? exit.failure : exit.ok
  } finally {
    progress.end()
  }
}

async function tell(
  store: ConversationReader | null,
  world: World,
  verified: Verified,
  findings: readonly Finding[],
  ms: number,
): Promise<void> {
  if (!world.json) return tellFindings(store, world, verified, findings, ms)
  const { messages, erased, conversations, blobs, damaged } = verified
  const of = (severity: Severity) => findings.filter(finding => finding.severity === severity).map(jsonOf)
  world.out.line(
    JSON.stringify({
      checked: messages,
      erased,
      conversations,
      damaged_conversations: damaged,
      blobs,
      counts: { ...verified.findings },
      damaged: of('damage'),
      repairable: of('repairable'),
      notes: of('note'),
    }),
  )
}

function jsonOf(finding: Finding) {
  const { conversation, message, branch, seq, what, before, standing } = finding
  const ranges = standing?.map(({ lo, hi }) => [lo, hi]) ?? null
  return {
    conversation,
    message,
    branch,
    seq,
    reason: what,
    before,
    after: countDependents(finding),
    standing: ranges,
  }
}

/** Whether the store cannot be opened because of what lies there; anything else has its own name and next step. */
function isDamage(error: unknown): error is Error {
  if (error instanceof SkeinError) return error instanceof CorruptError
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')
}

const nowhere = { conversation: null, message: null, branch: null, seq: null, before: null, standing: null }
const nothing = { conversations: 0, messages: 0, erased: 0, blobs: 0, damaged: 0 }
