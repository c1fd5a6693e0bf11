/** Pages of the log at which SQLite copies it into the file inside a commit. Only a single large write
 *  reaches them: other checkpoints are made between writes (checkpoints.ts). */
export const pagesPerOwnCheckpoint = 4_000

/** The settings of a handle of ours, as one text: a call for each would take as long as the query of a short
 *  command. */
export function handleSettings(synchronous: 'FULL' | 'NORMAL', cacheBytes?: number): string {
  const isDarwin = process.platform === 'darwin'
  return `
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    ${isDarwin && synchronous === 'FULL' ? 'PRAGMA fullfsync = ON;' : ''}
    ${cacheBytes === undefined ? '' : `PRAGMA cache_size = -${Math.floor(cacheBytes / 1_024)};`}
    PRAGMA foreign_keys = ON;
    -- Zeros deleted rows and freed pages. Costs an append nothing that can be measured.
    PRAGMA secure_delete = ON;
    PRAGMA wal_autocheckpoint = ${pagesPerOwnCheckpoint};
  `
}
