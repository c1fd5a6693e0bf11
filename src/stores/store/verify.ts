import { errorText } from '../../core/error-text.ts'
import { ReadOnlyError } from '../../core/errors.ts'
import type { Finding, Severity, Verified, VerifyOptions } from '../../core/finding.ts'
import { all, type Engine, first, type Program } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'
import type { RawConversationRow } from '../engine/statements-verify.ts'
import { checkBlob } from '../programs/verify/blobs.ts'
import {
  type ConversationCheck,
  type ConversationCheckOptions,
  checkConversation,
} from '../programs/verify/conversation.ts'
import { createFindingList, type FindingList, guarded, isDamage } from '../programs/verify/findings.ts'
import { checkOrphans, checkPrompts, checkTasks, checkTokens } from '../programs/verify/store-wide.ts'
import { programStepper } from './program-stepper.ts'

/** Conversations per page. */
const pageSize = 200

/** Conversations up to this many messages are checked in one query. */
const mostAtOnce = 500

/** How often a conversation with concurrent writers is checked again before it is read in one
 *  transaction. */
const mostTries = 3

/** Checks everything, or the requested part. Each conversation is read in small steps, so that neither
 *  writers nor this process are blocked. A conversation with findings that was written meanwhile is checked
 *  again. */
export async function verifyAll(engine: Engine, options: VerifyOptions): Promise<Verified> {
  const { signal, sampleSize: newest } = options
  const counts = { conversations: 0, messages: 0, erased: 0, blobs: 0, damaged: 0 }
  const found: Record<Severity, number> = { damage: 0, repairable: 0, note: 0 }
  const step = programStepper(engine, signal)
  const total = await totalOf()

  if (options.conversations) {
    for (const id of options.conversations) await named(id)
  } else if (newest !== undefined) await sample(newest)
  else {
    for (const { severity, what } of await engine.inspect(signal)) emit(storeFinding(severity, what))
    for await (const one of eachConversation()) await check(one)
    await storeWide()
  }
  return { ...counts, findings: found }

  async function named(id: string): Promise<void> {
    try {
      const row = await step(first('rawConversation', { id }))
      if (row) await check(row)
      else emit({ ...storeFinding('damage', 'the conversation is not there'), conversation: id })
    } catch (error) {
      if (!isDamage(error)) throw error
      unreadable(id, error)
    }
  }

  async function sample(messages: number): Promise<void> {
    const rows = await step(all('recentConversations', { limit: 1_000 }))
    for (const row of rows) {
      if (counts.messages >= messages) break
      await check(row, messages - counts.messages)
    }
  }

  async function* eachConversation(): AsyncGenerator<RawConversationRow> {
    let after: Conv | null = null
    try {
      for (;;) {
        const rows: readonly RawConversationRow[] = await step(
          all('rawConversations', { after, limit: pageSize }),
        )
        yield* rows
        if (rows.length < pageSize) return
        after = rows.at(-1)!.conv
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      emit(storeFinding('damage', `the list of conversations cannot be read: ${errorText(error)}`))
    }
    yield* theRest(after)
  }

  /** One by one from the index, because a page of the table is lost. */
  async function* theRest(done: Conv | null): AsyncGenerator<RawConversationRow> {
    for (let after: string | null = null; ; ) {
      const known: readonly { conv: Conv; id: string }[] = await step(
        all('knownConversations', { after, limit: pageSize }),
      ).catch(error => {
        if (!isDamage(error)) throw error
        return []
      })
      for (const { conv, id } of known) {
        if (done !== null && conv <= done) continue
        try {
          const row = await step(first('rawConversationAt', { conv }))
          if (row) yield row
        } catch (error) {
          if (!isDamage(error)) throw error
          unreadable(id, error)
        }
      }
      if (known.length < pageSize) return
      after = known.at(-1)!.id
    }
  }

  function unreadable(id: string, error: unknown): void {
    counts.conversations++
    counts.damaged++
    const what = `the conversation itself cannot be read: ${errorText(error)}`
    emit({ ...storeFinding('damage', what), conversation: id })
  }

  async function check(row: RawConversationRow, most = Number.POSITIVE_INFINITY): Promise<void> {
    const result = await settle(row, most)
    counts.conversations++
    counts.messages += result.messages
    counts.erased += result.erased
    const isDamaged = result.more.damage > 0 || result.findings.some(({ severity }) => severity === 'damage')
    if (isDamaged) counts.damaged++
    for (const finding of result.findings) emit(finding)
    for (const [severity, more] of Object.entries(result.more)) found[severity as Severity] += more
  }

  /** Checks a conversation until it has no findings, or was not written during the check. */
  async function settle(given: RawConversationRow, newest: number): Promise<ConversationCheck> {
    const before = counts.messages
    let shown = -1
    // A check that is repeated reports nothing twice.
    const onPage = (done: number) => {
      if (done <= shown) return
      shown = done
      options.onProgress?.({ messages: before + done, total })
    }
    let row = given
    for (let tries = 1; ; tries++) {
      const result = await checked(row, { newest, onPage })
      if (result.findings.length === 0) return result
      const now = await step(first('rawConversationAt', { conv: row.conv })).catch(() => row)
      if (!now) return nothing
      if (JSON.stringify(now) === JSON.stringify(row)) return result
      row = now
      if (tries < mostTries) continue
      return engine.read(function* () {
        const fixed = yield* first('rawConversationAt', { conv: row.conv })
        return fixed ? yield* checkConversation(fixed, { newest, onPage }) : nothing
      })
    }
  }

  /** A short conversation is checked in one query. A long or damaged one is checked step by step, so that
   *  its other parts are read. */
  async function checked(row: RawConversationRow, how: ConversationCheckOptions): Promise<ConversationCheck> {
    if (row.next_seq <= mostAtOnce) {
      signal?.throwIfAborted()
      await step.giveWay()
      try {
        return await engine.query(() => checkConversation(row, how))
      } catch (error) {
        if (!isDamage(error)) throw error
      }
    }
    return step(checkConversation(row, how))
  }

  async function storeWide(): Promise<void> {
    const findings = createFindingList(null)
    await step(guarded(findings, 'the rows that belong to conversations', () => checkOrphans(findings)))
    await step(guarded(findings, 'the prompts', () => checkPrompts(findings)))
    if (await hasTable(all('taskIds', { after: '', limit: 1 })))
      await step(guarded(findings, 'the tasks', () => checkTasks(findings)))
    if (await hasTable(all('listTokens', { created_at: -1, id: '', limit: 1 })))
      await step(guarded(findings, 'the access tokens', () => checkTokens(findings)))
    try {
      await blobs(findings)
    } catch (error) {
      if (!isDamage(error)) throw error
      findings.add('damage', `the blobs cannot be read: ${errorText(error)}`)
    }
    for (const finding of findings.list) emit(finding)
    for (const [severity, more] of Object.entries(findings.more)) found[severity as Severity] += more
  }

  /** A file that could not be migrated lacks some tables. */
  async function hasTable(read: Program<unknown>): Promise<boolean> {
    try {
      await step(read)
    } catch (error) {
      if (error instanceof ReadOnlyError) return false
    }
    return true
  }

  async function blobs(findings: FindingList): Promise<void> {
    for (let after = ''; ; ) {
      const page = await step(all('rawBlobs', { after, limit: pageSize }))
      for (const blob of page) {
        counts.blobs++
        const wrong = await step(checkBlob(blob))
        const [still] = wrong === null ? [] : await step(all('rawBlobs', { after, limit: 1 }))
        after = blob.hash
        if (wrong !== null && still?.hash === blob.hash) await blame(blob.hash, wrong)
        else if (blob.used === 0) findings.add('note', `blob ${blob.hash} belongs to no message`)
      }
      if (page.length < pageSize) break
    }
    for (const { hash, known, count } of await strayParts()) {
      if (known === 1) await blame(hash, `has ${count} parts besides its own bytes`)
      else findings.add('repairable', `${count} parts belong to blob ${hash}, which is not there`)
    }
  }

  /** A file that could not be migrated has no parts. */
  async function strayParts() {
    try {
      return await step(all('strayParts', {}))
    } catch (error) {
      if (error instanceof ReadOnlyError) return []
      throw error
    }
  }

  /** A blob is damaged, and so are the messages that refer to it. */
  async function blame(hash: string, wrong: string): Promise<void> {
    const users = await step(all('blobUsers', { hash, limit: 1_000 }))
    if (users.length === 0) emit(storeFinding('note', `blob ${hash}, which belongs to no message, ${wrong}`))
    for (const { conversation_id, id, seq } of users) {
      const finding = storeFinding('damage', `its blob ${hash} ${wrong}`)
      emit({ ...finding, conversation: conversation_id, message: id === '' ? null : id, seq })
    }
    counts.damaged += new Set(users.map(({ conv }) => conv)).size
  }

  function emit(finding: Finding): void {
    found[finding.severity]++
    options.onFinding?.(finding)
  }

  async function totalOf(): Promise<number> {
    if (newest !== undefined) return newest
    try {
      return (await step(first('messageTotal', {})))?.messages ?? 0
    } catch (error) {
      if (!isDamage(error)) throw error
      return 0
    }
  }
}

const nothing: ConversationCheck = {
  messages: 0,
  erased: 0,
  findings: [],
  more: { damage: 0, repairable: 0, note: 0 },
}

function storeFinding(severity: Severity, what: string): Finding {
  return {
    severity,
    conversation: null,
    message: null,
    branch: null,
    seq: null,
    what,
    before: null,
    standing: null,
  }
}
