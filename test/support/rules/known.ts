/** Faults that are known and not yet removed. These lists may only shrink: an entry that is no longer a fault
 *  fails the test, and has to be deleted. */

/** Imports against the arrows. */
export const knownArrows: readonly string[] = []

/** Folders that import each other. */
export const knownCycles: readonly string[] = []

/** Names of several exported types. */
export const knownTypeNames: readonly string[] = []

/** Names of several exported values, or of a value and a type. */
export const knownValueNames: readonly string[] = []

/** The largest share of files with a single importer, in percent. */
export const mostOneImporterPercent = 25
