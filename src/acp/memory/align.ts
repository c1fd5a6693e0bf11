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
  const reached = (fit: Fit) => fit.worth + worths[rowsBefore(rows, fit.from)]![fit.which]!
  for (const [r, row] of rows.entries()) {
    const above = worths[r]!
    const next = [...above]
    const byWhich = new Map(row.fits.map(fit => [fit.which, fit]))
    for (let i = 0; i < count; i++) {
      const fit = byWhich.get(i)
      next[i + 1] = Math.max(above[i + 1]!, next[i]!, fit ? reached(fit) : 0)
    }
    worths.push(next)
  }

  const chosen: (Fit | null)[] = new Array(count).fill(null)
  let r = rows.length
  for (let i = count; i > 0 && r > 0; ) {
    const worth = worths[r]![i]!
    const fit = rows[r - 1]!.fits.find(({ which }) => which === i - 1)
    if (worth === worths[r]![i - 1]) i--
    else if (fit && worth === reached(fit)) {
      chosen[i - 1] = fit
      r = rowsBefore(rows, fit.from)
      i--
    } else r--
  }
  return chosen
}

interface Row {
  readonly at: number
  readonly fits: Fit[]
}

/** The fits that end at the same place. */
function rowsOf(fits: readonly Fit[]): readonly Row[] {
  const rows: Row[] = []
  for (const fit of fits) {
    const last = rows.at(-1)
    if (last?.at === fit.at) last.fits.push(fit)
    else rows.push({ at: fit.at, fits: [fit] })
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
