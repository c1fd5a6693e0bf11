import { setImmediate } from 'node:timers'

/** The turns of the event loop, which all calls of a process share. Statements of SQLite and the pieces of
 *  long work block it, and many calls at once would block it for as long as all of them together. So a turn
 *  has reads for about 10 ms, and one piece of long work. */

/** Milliseconds after which other work is due. Reads that have waited get half of them: further calls may
 *  begin in the same turn. */
const turnMs = 10
const waitedMs = 5

/** When the first work of this turn began, by the clock of the machine. If it jumps, the turn ends early. */
let began: number | null = null
const reads: (() => void)[] = []
/** Long calls that have not begun, and others. Each kind gets every second turn. */
const waiting: Record<'first' | 'next', (() => void)[]> = { first: [], next: [] }
let isFirstDue = false

/** Whether work has used up this turn. */
export function isTurnUsedUp(): boolean {
  if (began !== null) return hasTaken(turnMs)
  beginTurn()
  return false
}

/** Waits for a turn in which no other long call runs. A call that has not begun is not kept waiting by all
 *  those that have. */
export function nextTurn(piece: 'first' | 'next' = 'next'): Promise<void> {
  if (began === null) beginTurn()
  return new Promise(resolve => {
    waiting[piece].push(resolve)
  })
}

/** Runs a read in this turn, or in a later one if this is used up. */
export function readInTurn<T>(read: () => T | Promise<T>): T | Promise<T> {
  if (!isTurnUsedUp()) return read()
  return new Promise((resolve, reject) => {
    reads.push(() => {
      try {
        resolve(read())
      } catch (error) {
        reject(error)
      }
    })
  })
}

/** Runs all reads that wait, those of other stores too: what some of them read is about to be closed. */
export function finishReads(): void {
  for (const read of reads.splice(0)) read()
}

function hasTaken(most: number): boolean {
  const ms = Date.now() - began!
  return ms >= most || ms < 0
}

function beginTurn(): void {
  began = Date.now()
  setImmediate(endTurn)
}

function endTurn(): void {
  began = null
  if (reads.length + waiting.first.length + waiting.next.length === 0) return
  beginTurn()
  do reads.shift()?.()
  while (reads.length > 0 && !hasTaken(waitedMs))
  isFirstDue = !isFirstDue
  const { first, next } = waiting
  const resume = (isFirstDue ? first : next).shift() ?? (isFirstDue ? next : first).shift()
  resume?.()
}
