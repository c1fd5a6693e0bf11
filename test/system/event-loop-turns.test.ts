import { expect, it, onTestFinished, vi } from 'vitest'
import { finishReads, isTurnUsedUp, nextTurn, readInTurn } from '../../src/system/event-loop-turns.ts'

/** Counts the turns of the event loop from now on. */
function countTurns(): () => number {
  let turns = 0
  let isRunning = true
  const next = () => {
    turns++
    if (isRunning) setImmediate(next)
  }
  setImmediate(next)
  onTestFinished(() => {
    isRunning = false
  })
  return () => turns
}

/** A clock that only advances by work. */
function standStill(): (ms: number) => void {
  let now = 1_000
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  return ms => {
    now += ms
  }
}

/** Ends the turn in which the test runs. */
const endTurn = () => new Promise(resolve => setImmediate(resolve))

/** How often each number occurs. */
const counts = (numbers: readonly number[]) =>
  [...Map.groupBy(numbers, n => n).values()].map(all => all.length)

it('a turn has one piece of long work, however many calls run side by side', async () => {
  const work = standStill()
  await endTurn()
  const turns = countTurns()
  const pieces: number[] = []
  const call = async () => {
    for (let piece = 0; piece < 4; piece++) {
      if (isTurnUsedUp()) await nextTurn(piece === 0 ? 'first' : 'next')
      work(12)
      pieces.push(turns())
    }
  }
  await Promise.all(Array.from({ length: 10 }, call))
  expect(pieces).toHaveLength(40)
  expect(Math.max(...counts(pieces))).toBe(1)
})

it('a call that has not begun has every second turn', async () => {
  const work = standStill()
  await endTurn()
  const order: string[] = []
  const call = async (name: string, pieces: number) => {
    for (let piece = 0; piece < pieces; piece++) {
      if (isTurnUsedUp()) await nextTurn(piece === 0 ? 'first' : 'next')
      work(12)
      order.push(name)
    }
  }
  const long = Array.from({ length: 10 }, () => call('long', 10))
  await endTurn()
  await Promise.all([call('short', 1), ...long])
  // Those that were called before it have not all begun either.
  expect(order.indexOf('short')).toBeLessThan(25)
})

it('a turn has reads for 10 ms, or for 5 ms if they have waited, in the order of the calls', async () => {
  const work = standStill()
  await endTurn()
  const turns = countTurns()
  const seen: { n: number; turn: number }[] = []
  const read = (n: number) => () => {
    work(4)
    seen.push({ n, turn: turns() })
    return n
  }
  const found = await Promise.all(Array.from({ length: 20 }, (_, n) => readInTurn(read(n))))
  expect(found).toEqual([...found.keys()])
  expect(seen.map(({ n }) => n)).toEqual(found)
  const [first, ...later] = counts(seen.map(({ turn }) => turn))
  expect([first, Math.max(...later)]).toEqual([3, 2])
})

it('a turn ends if the clock is set back', async () => {
  const work = standStill()
  await endTurn()
  isTurnUsedUp()
  expect(isTurnUsedUp()).toBe(false)
  work(-3_600_000)
  expect(isTurnUsedUp()).toBe(true)
})

it('a read that is alone runs at once', async () => {
  await endTurn()
  expect(readInTurn(() => 1)).toBe(1)
})

it('a waiting read rejects with its error, and can be finished early', async () => {
  const work = standStill()
  await endTurn()
  isTurnUsedUp()
  work(10)
  const failed = expect(readInTurn(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
  const thrown = readInTurn(() => {
    throw new Error('broken')
  })
  let isRead = false
  void readInTurn(() => {
    isRead = true
  })
  finishReads()
  expect(isRead).toBe(true)
  await failed
  await expect(thrown).rejects.toThrow('broken')
})
