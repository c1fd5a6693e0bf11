import { createHash } from 'node:crypto'
import type { Finding, Severity } from '../../../core/finding.ts'
import type { ConversationId } from '../../../core/ids.ts'
import { subtreeRanges } from '../../../core/runs.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import { branchFromRow, linkFromRow, summaryFromRow } from '../../engine/row-to-value.ts'
import type { Conv, SummaryRow } from '../../engine/rows.ts'
import type { RawConversationRow } from '../../engine/statements-verify.ts'
import { runStarts } from '../structure.ts'
import { checkDraftFields, checkEventFields, checkSettings } from './fields.ts'
import { checkReadable, createFindingList, type FindingList, guarded, isDamage } from './findings.ts'
import { readRawPositions, walkMessages } from './walk.ts'

export interface ConversationCheck {
  readonly messages: number
  readonly erased: number
  readonly findings: readonly Finding[]
  readonly more: Readonly<Record<Severity, number>>
}

export interface ConversationCheckOptions {
  /** Only this many messages, the newest. */
  readonly newest: number
  /** Called with the number of checked messages. May start again from 0. */
  readonly onPage: (messages: number) => void
}

/** Checks a conversation and everything that belongs to it. If a part cannot be read, the other parts are
 *  checked, provided that the runner throws the engine's errors into the program. */
export function* checkConversation(
  conversation: RawConversationRow,
  { newest, onPage }: ConversationCheckOptions,
): Program<ConversationCheck> {
  const findings = createFindingList(conversation.id)
  const above = Math.max(-1, conversation.next_seq - 1 - newest)
  let [messages, erased] = [0, 0]
  yield* guarded(findings, 'its messages', function* () {
    const walked = yield* walkMessages(conversation, findings, { above, onPage: counted })
    erased = walked.erased
    if (above >= 0 || conversation.purging === 1 || findings.has('damage')) return
    checkCounter('messages', conversation.messages, walked.messages, findings)
    checkCounter('tokens', conversation.tokens, walked.tokens, findings)
  })
  yield* guarded(findings, 'its settings', () => checkSettings(conversation, findings))
  yield* guarded(findings, 'its branches', () => checkBranches(conversation, findings))
  if (above < 0) {
    yield* guarded(findings, 'what belongs to it', () => checkDerived(conversation, findings))
    yield* guarded(findings, 'its events', () => checkEventFields(conversation, findings))
    yield* guarded(findings, 'its summaries', () => checkSummaries(conversation, findings))
  }
  return { messages, erased, findings: yield* withStanding(conversation, findings), more: findings.more }

  function counted(done: number): void {
    messages = done
    onPage(done)
  }
}

function checkCounter(name: string, stored: number, counted: number, findings: FindingList): void {
  if (stored !== counted) findings.add('repairable', `${name} is ${stored}, and should be ${counted}`)
}

/** Adds the dependent messages to each damaged message, as far as the structure can be read. */
function* withStanding(conversation: RawConversationRow, { list }: FindingList): Program<readonly Finding[]> {
  const isAsked = ({ severity, seq, branch }: Finding) =>
    severity === 'damage' && seq !== null && branch === null
  if (!list.some(isAsked)) return list
  try {
    const starts = yield* runStarts(conversation.conv, 0)
    return list.map(finding => {
      if (!isAsked(finding)) return finding
      const seq = finding.seq!
      const ranges = subtreeRanges(starts, conversation.next_seq, [seq])
        .map(({ lo, hi }) => ({ lo: lo === seq ? lo + 1 : lo, hi }))
        .filter(({ lo, hi }) => lo <= hi)
      return { ...finding, standing: ranges }
    })
  } catch (error) {
    if (!isDamage(error)) throw error
    return list
  }
}

/** Checks that branches point to messages of the conversation, and their copies of the head's position. */
function* checkBranches(conversation: RawConversationRow, findings: FindingList): Program<void> {
  const { conv, active_branch, trashed_at, purging } = conversation
  const id = conversation.id as ConversationId
  const branches = yield* all('branches', { conv })
  if (!branches.some(({ name }) => name === active_branch))
    findings.add('repairable', `its active branch ${JSON.stringify(active_branch)} is missing`)
  for (const row of branches) checkReadable(findings, () => branchFromRow(id, row), { branch: row.name })
  if (purging === 1) return
  const seqs = [...new Set(branches.map(({ head_seq }) => head_seq))].filter(seq => seq >= 0)
  const places = new Map((yield* readRawPositions(conv, seqs)).map(place => [place.seq, place]))
  for (const row of branches) {
    const about = { branch: row.name, ...(row.head_seq >= 0 && { seq: row.head_seq }), message: row.head_id }
    if (trashed_at !== null && row.key !== null)
      findings.add('repairable', 'it is in the trash and keeps its key', about)
    if (row.head_seq < 0) {
      if (row.head_id !== null) findings.add('damage', 'the branch is empty and has a head', about)
      continue
    }
    const head = places.get(row.head_seq)
    if (!head) findings.add('damage', 'the branch points to a message that is not there', about)
    else if (head.id !== row.head_id)
      findings.add('damage', `the branch points to another message than seq ${row.head_seq}`, about)
    else if (
      head.run !== row.head_run ||
      head.depth !== row.head_depth ||
      head.path_tokens !== row.head_path_tokens
    )
      findings.add('repairable', 'what the branch knows of its head is wrong', about)
  }
  for (const link of yield* all('rawLinks', { conv })) {
    const { branch, agent, seen_seq, seen_id } = link
    const about = { branch, message: seen_id, ...(seen_seq !== null && { seq: seen_seq }) }
    if (!branches.some(({ name }) => name === branch))
      findings.add('repairable', `the agent ${JSON.stringify(agent)} knows a branch that is not there`, about)
    checkReadable(findings, () => linkFromRow(id, link), { branch })
    if (seen_seq === null) continue
    const [place] = yield* readRawPositions(conv, [seen_seq])
    if (place?.id !== seen_id)
      findings.add(
        'repairable',
        `the agent ${JSON.stringify(agent)} has seen a message that is not there`,
        about,
      )
  }
}

/** Messages that one statement looks up in the search index. */
const searchedAtOnce = 2_000

/** Finds messages that are marked as indexed and are not in the search index. */
function* checkSearchable(conv: Conv, end: number, findings: FindingList): Program<void> {
  let count = 0
  let seq: number | null = null
  let from = 0
  do {
    const below = Math.min(from + searchedAtOnce, end)
    const lacking = yield* first('unsearchable', { conv, from, below })
    count += lacking?.count ?? 0
    seq ??= lacking?.first ?? null
    from = below
  } while (from < end)
  if (count > 0)
    findings.add('repairable', `${count} of its messages are missing in the search index`, {
      ...(seq !== null && { seq }),
    })
}

/** Checks the counters, marks and lists of the conversation. */
function* checkDerived(conversation: RawConversationRow, findings: FindingList): Program<void> {
  const { conv, indexed_seq, next_seq, next_event, tags, prompt_known, prompt_hash } = conversation
  if (prompt_known !== 1) findings.add('damage', `its prompt ${prompt_hash} is missing`)
  if (indexed_seq > next_seq)
    findings.add(
      'repairable',
      `the search index is said to reach up to ${indexed_seq}, and next is ${next_seq}`,
    )
  yield* checkSearchable(conv, Math.min(indexed_seq, next_seq), findings)
  const events = yield* first('eventFacts', { conv })
  if (events?.last != null && events.last >= next_event)
    findings.add(
      'repairable',
      `the next event is said to be ${next_event}, and ${events.last} is there already`,
    )
  for (const { turn, pieces, last, status } of yield* all('draftedTurns', { conv })) {
    const name = `the draft of turn ${JSON.stringify(turn)}`
    if (pieces !== last + 1) findings.add('damage', `${name} lacks pieces`)
    if (status !== 'open') findings.add('note', `${name} was left over`)
    yield* checkDraftFields(conv, turn, findings)
  }
  const listed = new Set((yield* all('rawTags', { conv })).map(({ tag }) => tag))
  const said = tagsIn(tags)
  if (said === null) findings.add('damage', 'its tags cannot be read')
  else if (said.length !== listed.size || said.some(tag => !listed.has(tag)))
    findings.add('repairable', 'it is not listed by its own tags')
}

function tagsIn(text: string): readonly string[] | null {
  try {
    const tags = JSON.parse(text) as unknown
    return Array.isArray(tags) ? tags : null
  } catch {
    return null
  }
}

/** Ids to read at a time. */
const stretch = 5_000

/** Checks that each summary matches its messages. */
function* checkSummaries({ conv, id }: RawConversationRow, findings: FindingList): Program<void> {
  for (const summary of yield* all('summaries', { conv })) {
    if (summary.text === null) continue
    checkReadable(findings, () => summaryFromRow(id as ConversationId, summary))
    const about = { message: summary.last_id, seq: summary.last_seq }
    const found = yield* checksumOf(conv, summary)
    if (found === null)
      findings.add('repairable', 'a summary ends or begins with a message that is not there', about)
    else if (found !== summary.checksum)
      findings.add('repairable', 'a summary was made of other messages than those of its range', about)
  }
}

/** The checksum over the ids of a range, or null if it is not a range of a path. */
function* checksumOf(
  conv: Conv,
  { first_seq, last_seq, first_id, last_id }: SummaryRow,
): Program<string | null> {
  const ranges: { lo: number; hi: number }[] = []
  // Climbs run by run and only upwards, so that damage cannot cause an endless loop.
  for (let seq = last_seq; ; ) {
    const [place] = yield* readRawPositions(conv, [seq])
    if (!place || place.run > seq) return null
    if (seq === last_seq && place.id !== last_id) return null
    ranges.unshift({ lo: Math.max(place.run, first_seq), hi: seq })
    if (place.run <= first_seq) break
    const [start] = yield* readRawPositions(conv, [place.run])
    if (!start || start.parent_seq < first_seq || start.parent_seq >= place.run) return null
    seq = start.parent_seq
  }
  const digest = createHash('sha256')
  let isFirst = true
  for (const { lo, hi } of ranges) {
    for (let from = lo; from <= hi; from += stretch) {
      const span = { conv, lo: from, hi: Math.min(hi, from + stretch - 1) }
      for (const { id } of yield* all('idsBetween', span)) {
        if (isFirst && id !== first_id) return null
        isFirst = false
        digest.update(`${id}\n`)
      }
    }
  }
  return digest.digest('hex')
}
