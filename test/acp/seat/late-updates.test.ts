import { describe, expect, it } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import { answer, openSeating } from './seating.ts'

/** A seat after one turn, on a branch that can be unavailable. */
async function openWithOutage() {
  let isAway = false
  const failures: unknown[] = []
  const seating = await openSeating({
    branch: async () => {
      if (isAway) throw new UnavailableError('it is away')
      return seating.branch
    },
    onLateFailure: error => failures.push(error),
  })
  await seating.prompt('question', () => {
    seating.seat.hear(answer('answer'))
    return { stop: 'end_turn' }
  })
  const away = (value: boolean) => {
    isAway = value
  }
  return { ...seating, away, failures }
}

describe('updates after the end of a turn', () => {
  it('are stored behind it after a moment of silence', async () => {
    const { seat, clock, said } = await openWithOutage()
    expect(seat.hear(answer(' late'))).toBe('show')
    await clock.advance(150)
    expect(seat.hear(answer(' words'))).toBe('show')
    await clock.advance(199)
    expect(await said()).toEqual(['question', 'answer'])
    await clock.advance(1)
    expect(await said()).toEqual(['question', 'answer', ' late words'])
  })

  it('are known to the agent: nothing is injected into the next prompt', async () => {
    const { seat, prompt, prompts } = await openWithOutage()
    seat.hear(answer(' late'))
    await prompt('next')
    expect(prompts.map(({ injected }) => injected)).toEqual([null, null])
  })

  it('are stored on a later try if the first one fails, with those that arrive meanwhile', async () => {
    const { seat, clock, said, away, failures } = await openWithOutage()
    seat.hear(answer('late'))
    away(true)
    await clock.advance(1_000)
    expect(await said()).toEqual(['question', 'answer'])
    expect(failures).toEqual([expect.any(UnavailableError)])
    seat.hear(answer(' words'))
    away(false)
    await clock.advance(10_000)
    expect(await said()).toEqual(['question', 'answer', 'late words'])
  })

  it('are tried again as long as it takes, at longer and longer intervals', async () => {
    const { seat, clock, said, away, failures } = await openWithOutage()
    seat.hear(answer('late'))
    away(true)
    await clock.advance(5 * 60_000)
    expect(failures.length).toBeGreaterThan(5)
    expect(failures.length).toBeLessThan(20)
    away(false)
    await clock.advance(30_000)
    expect(await said()).toEqual(['question', 'answer', 'late'])
    expect(clock.timers.all).toBe(0)
  })

  it('are stored before the next question', async () => {
    const { seat, prompt, said } = await openWithOutage()
    seat.hear(answer(' late'))
    await prompt('next')
    expect(await said()).toEqual(['question', 'answer', ' late', 'next'])
  })

  it('are not lost if the next prompt is refused because of them', async () => {
    const { seat, prompt, said, away } = await openWithOutage()
    seat.hear(answer('late'))
    away(true)
    await expect(prompt('next')).rejects.toThrow('it is away')
    away(false)
    await seat.idle()
    expect(await said()).toEqual(['question', 'answer', 'late'])
  })

  it('are stored at the latest when the seat becomes idle, and a failure is reported', async () => {
    const { seat, said, away, failures } = await openWithOutage()
    seat.hear(answer('late'))
    away(true)
    await expect(seat.idle()).rejects.toThrow('it is away')
    expect(failures).toHaveLength(1)
    away(false)
    await seat.idle()
    await seat.idle()
    expect(await said()).toEqual(['question', 'answer', 'late'])
  })
})
