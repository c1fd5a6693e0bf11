/** A place at which something stored may stand in a replay. */
export interface Fit {
  /** Which of the stored ones. */
  readonly which: number
  /** Where it begins and ends in the replay. */
  readonly from: number
  readonly at: number
  /** How well it fits; more than 0. */
  readonly worth: number
}

/** Chooses places, in the order of both sides, each for one stored thing and none over another, so that they are worth the
 *  most together. Where that leaves a choice, older stored things get a place before newer ones (an agent that dies forgets the
 *  newest), and places late in the replay are taken before early ones (what is stored is the end of a conversation).
 *  `fits` come in the order of their ends. */
export function align(count: number, fits: readonly Fit[]): readonly (Fit | null)[] {
  const rows = rowsOf(fits)
  /** By rows considered and stored things considered: what can be reached. */
  const worths: number[][] = [new Array(count + 1).fill(0)]
  const reached = (fit: Fit, r: number) => fit.worth + worths[before(fit, r)]![fit.which]!
  /** How many rows lie before a fit. One without length ends in its own row. */
  const before = (fit: Fit, r: number) => Math.min(rowsBefore(rows, fit.from), r)
  for (const [r, row] of rows.entries()) {
    const above = worths[r]!
    const next = [...above]
    for (let i = 0; i < count; i++) {
      const fit = row.fits.get(i)
      next[i + 1] = Math.max(above[i + 1]!, next[i]!, fit ? reached(fit, r) : 0)
    }
    worths.push(next)
  }

  const chosen: (Fit | null)[] = new Array(count).fill(null)
  let r = rows.length
  for (let i = count; i > 0 && r > 0; ) {
    const worth = worths[r]![i]!
    const fit = rows[r - 1]!.fits.get(i - 1)
    if (worth === worths[r]![i - 1]) i--
    else if (fit && worth === reached(fit, r - 1)) {
      chosen[i - 1] = fit
      r = before(fit, r - 1)
      i--
    } else r--
  }
  return chosen
}

interface Row {
  readonly at: number
  readonly fits: Map<number, Fit>
}

/** The fits that end at the same place, the best one for each stored thing. */
function rowsOf(fits: readonly Fit[]): readonly Row[] {
  const rows: Row[] = []
  for (const fit of fits) {
    const last = rows.at(-1)
    if (last?.at !== fit.at) rows.push({ at: fit.at, fits: new Map([[fit.which, fit]]) })
    else if ((last.fits.get(fit.which)?.worth ?? 0) < fit.worth) last.fits.set(fit.which, fit)
  }
  return rows
}

/** How many rows end here or before. */
function rowsBefore(rows: readonly Row[], place: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (rows[middle]!.at <= place) low = middle + 1
    else high = middle
  }
  return low
}
