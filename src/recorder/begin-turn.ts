import type { BranchRef } from '../core/branch.ts'
import { checkList, checkName, checkObject } from '../core/check.ts'
import { BusyError } from '../core/errors.ts'
import { prepareLarge } from '../core/large/prepare-large.ts'
import { areLarge } from '../core/large/weight.ts'
import { prepareMessages } from '../core/prepare.ts'
import { finishInTurns } from '../system/finish-in-turns.ts'
import { type RecorderSource, systemRecorderSource } from '../system/source.ts'
import { defaultLimits } from './limits.ts'
import type { TurnRequest } from './open-turn.ts'
import { recordAtOnce } from './record-at-once.ts'
import { recordLive } from './record-live.ts'
import type { BeginTurn, BranchWait, RecordStore, TurnRecording } from './recording.ts'
import { waitingTurn } from './waiting-turns.ts'

const firstPauseMs = 50
const longestPauseMs = 1_000

/** Begins a turn: stores the messages that open it, and holds the branch until its end. If another turn holds
 *  the branch, it is taken over if its holder is dead or its lease has expired; otherwise `onBusy` decides.
 *  Throws errors of the caller (InvalidError, NotFoundError, BusyError, ConflictError, KeyReusedError).
 *  Failing storage does not throw: the turn continues, and `onTrouble` is called.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { beginTurn } from 'skein/recorder'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create()
 *
 * // The question is on the disk when this returns. Each step is stored as it ends.
 * const turn = await beginTurn(store, branch, { words: [{ role: 'user', content: 'Why?' }] })
 * turn.draft({ type: 'text', text: 'Because a ' })
 * await turn.add([{ role: 'assistant', content: 'Because a test fails.' }])
 * const { saved } = await turn.end('complete')
 *
 * const stored = await store.findTurn(conversation.id, turn.key)
 * console.log(saved, stored?.status) // true complete
 * ```
 */
export async function beginTurn(
  store: RecordStore,
  branch: BranchRef,
  options: BeginTurn,
  source: RecorderSource = systemRecorderSource,
): Promise<TurnRecording> {
  checkObject(branch, 'branch', 'a branch')
  checkObject(options, 'options', 'an object with words')
  checkList(options.words, 'words', 'a list of messages')
  const key = options.key === undefined ? source.uuid() : checkName(options.key, 'key')
  if (areLarge(options.words)) await finishInTurns(prepareLarge(options.words, 'words'))
  else if (options.words.length > 0) prepareMessages(options.words, 'words')
  const ref = { conversationId: branch.conversationId, name: branch.name }
  const limits = { ...defaultLimits, ...options.limits }
  const record = options.mode === 'at_once' ? recordAtOnce : recordLive
  const told = tellOnce(options.onWait)
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const request: TurnRequest = orderedAfterWaiting({ store, ref, options, key, source })
    try {
      return await record(request, limits)
    } catch (error) {
      if (!(error instanceof BusyError) || options.onBusy !== 'wait') throw error
      told({ holder: error.holder, until: error.leaseUntil })
    }
    await pause(pauseMs, source, options.signal)
  }
}

/** Calls `onWait` only for news. The end of one lease may vary a little, because it comes from another
 *  clock. */
function tellOnce(onWait: BeginTurn['onWait']): (wait: BranchWait) => void {
  let last: BranchWait | null = null
  return wait => {
    const isSameHolder = last !== null && JSON.stringify(last.holder) === JSON.stringify(wait.holder)
    const moved = Math.abs((last?.until?.getTime() ?? 0) - (wait.until?.getTime() ?? 0))
    if (isSameHolder && moved < 1_000) return
    last = wait
    onWait?.(wait)
  }
}

/** Orders a turn after an earlier one on its branch whose writes are still queued. A caller that names the
 *  newest stored message means the end of the branch, which the queued messages will become. */
function orderedAfterWaiting(request: TurnRequest): TurnRequest {
  const { store, ref, options } = request
  const after = waitingTurn(store, ref)
  if (!after) return request
  const { expectedHead, ...others } = options
  const meansBranchEnd = [undefined, after.head, after.reportedHead].includes(expectedHead)
  if (!meansBranchEnd) return request
  return {
    ...request,
    after,
    options: others,
    // The queued messages may go to a sibling branch; this turn follows them.
    get ref() {
      return after.branch
    },
  }
}

function pause(ms: number, source: RecorderSource, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal!.reason)
    }
    const cancel = source.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
