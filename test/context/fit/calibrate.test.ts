import { describe, expect, it } from 'vitest'
import { afterRefusal, afterUsage, calibrated, uncalibrated } from '../../../src/context/fit/calibrate.ts'
import { fit } from '../../../src/context/fit/fit.ts'
import { assistant, pathOf, user } from '../path.ts'

const used = (times: number, estimated: number, reported: number, from = uncalibrated) => {
  let calibration = from
  for (let i = 0; i < times; i++) calibration = afterUsage(calibration, { estimated, reported })
  return calibration
}

describe('calibration', () => {
  it('corrects counts that were too low quickly, and counts that were too high slowly', () => {
    expect(used(1, 10_000, 15_000).ratio).toBeCloseTo(1.35)
    expect(used(6, 10_000, 15_000).ratio).toBeCloseTo(1.5, 2)
    expect(used(1, 10_000, 8_000).ratio).toBeCloseTo(0.96)
    expect(used(30, 10_000, 8_000).ratio).toBeCloseTo(0.8, 2)
  })

  it('ignores impossible and uninformative reports', () => {
    expect(used(50, 10_000, 1_000_000).ratio).toBeLessThanOrEqual(4)
    // Most of it came from a cache, or was silently cut off: not a reason to send more.
    expect(used(50, 30_000, 4_096)).toBe(uncalibrated)
    expect(used(50, 10_000, 5_000).ratio).toBeGreaterThanOrEqual(0.5)
    expect(used(1, 100, 5_000)).toBe(uncalibrated)
    expect(used(1, 10_000, 0)).toBe(uncalibrated)
    expect(used(1, 10_000, Number.NaN)).toBe(uncalibrated)
  })

  it('makes the window smaller in our tokens, so that the context fits by the count of the provider', () => {
    const path = pathOf(...Array.from({ length: 200 }, (_, i) => (i % 2 ? assistant : user)('x', 100)))
    const calibration = { ratio: 2, limit: null }
    const window = calibrated({ limit: 10_000, maxTokens: 9_000, reserveOutput: 500 }, calibration)
    const sent = fit(path, window).tokens.total
    expect(sent * calibration.ratio).toBeLessThanOrEqual(0.8 * 10_000)
    expect(window).toEqual({ limit: 5_000, maxTokens: 4_500, reserveOutput: 250 })
  })

  it('leaves at least one token of a small window', () => {
    expect(calibrated({ limit: 1, maxTokens: 1 }, { ratio: 4, limit: null })).toEqual({
      limit: 1,
      maxTokens: 1,
    })
  })

  it('lowers the limit after a refusal, and never raises it', () => {
    const once = afterRefusal(uncalibrated, { limit: 100_000, needed: 120_000 })
    expect(once.limit).toBe(100_000)
    expect(afterRefusal(once, { limit: 150_000, needed: null }).limit).toBe(100_000)
    expect(afterRefusal(uncalibrated, { limit: null, needed: 50_000 }).limit).toBe(45_000)
    expect(afterRefusal(once, { limit: null, needed: null })).toBe(once)
    expect(afterRefusal(once, { limit: 0, needed: null })).toBe(once)
    expect(calibrated({ limit: 200_000 }, once)).toEqual({ limit: 100_000 })
  })

  it('changes nothing before the first report', () => {
    const window = { limit: 200_000, maxTokens: 100_000, threshold: 0.8, keepRecent: 10 }
    expect(calibrated(window, uncalibrated)).toEqual(window)
  })
})
