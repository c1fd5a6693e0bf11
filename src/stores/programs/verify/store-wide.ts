import { sha256Hex } from '../../../core/hash.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import { dispatchFromRow, taskFromRow } from '../../engine/row-to-task.ts'
import { tokenFromRow } from '../tokens.ts'
import { checkReadable, type FindingList } from './findings.ts'

const page = 50

/** Finds rows of conversations and messages that do not exist. */
export function* checkOrphans(findings: FindingList): Program<void> {
  for (const { place, conv, count } of yield* all('orphans', {})) {
    const what = `${count} of ${place} belong to a conversation that is not there (${conv})`
    findings.add(place === 'messages' ? 'damage' : 'repairable', what)
  }
  const loose = yield* countLooseEntries()
  if (loose > 0) findings.add('repairable', `the search index knows ${loose} messages that are not there`)
}

/** Entries of the search index per statement, about 10 ms. */
const entriesPerPiece = 10_000

function* countLooseEntries(): Program<number> {
  let loose = 0
  for (let after: string | null = null; ; ) {
    const piece: { count: number; last: string | null } | undefined = yield* first('looseSearchEntries', {
      after,
      limit: entriesPerPiece,
    })
    loose += piece?.count ?? 0
    if (!piece?.last) return loose
    after = piece.last
  }
}

/** Checks each prompt against its hash. */
export function* checkPrompts(findings: FindingList): Program<void> {
  for (let after = ''; ; ) {
    const prompts = yield* all('rawPrompts', { after, limit: page })
    for (const { hash, text } of prompts) {
      if (sha256Hex(text) !== hash) findings.add('damage', `the prompt ${hash} does not match its hash`)
    }
    if (prompts.length < page) return
    after = prompts.at(-1)!.hash
  }
}

const tasksPerPage = 200

/** Checks that the fields of tasks and of their dispatches can be read. */
function* checkTaskFields(ids: readonly string[], findings: FindingList): Program<void> {
  for (const task of yield* all('tasksByIds', { ids })) checkReadable(findings, () => taskFromRow(task))
  for (const id of ids) {
    for (let after = 0; ; ) {
      const rows = yield* all('listDispatches', { id, after, limit: page })
      for (const row of rows) checkReadable(findings, () => dispatchFromRow(row))
      if (rows.length < page) break
      after = rows.at(-1)!.n
    }
  }
}

/** Checks that the fields of access tokens can be read. */
export function* checkTokens(findings: FindingList): Program<void> {
  for (let from = { created_at: -1, id: '' }; ; ) {
    const rows = yield* all('listTokens', { ...from, limit: page })
    for (const row of rows) checkReadable(findings, () => tokenFromRow(row))
    if (rows.length < page) return
    const { created_at, id } = rows.at(-1)!
    from = { created_at, id }
  }
}

/** Checks that each task has its dispatches, numbered without a gap, and that one of them is the active one
 *  if the task is queued or running. */
export function* checkTasks(findings: FindingList): Program<void> {
  for (let after = ''; ; ) {
    const rows = yield* all('checkedTasks', { after, limit: tasksPerPage })
    for (const row of rows) {
      const name = JSON.stringify(row.id)
      const isActive = row.status === 'queued' || row.status === 'running'
      if (row.count !== row.dispatches || (row.highest ?? 0) !== row.dispatches)
        findings.add('damage', `task ${name} has ${row.count} of its ${row.dispatches} dispatches`)
      if (row.current < 1 || row.current > row.dispatches)
        findings.add('repairable', `task ${name} names a dispatch ${row.current} that is not there`)
      if (row.active !== (isActive ? 1 : 0) || (isActive && row.active_n !== row.current))
        findings.add(
          'repairable',
          `task ${name} is ${row.status}, and ${row.active} of its dispatches are active`,
        )
      if (!isActive && row.waiting > 0)
        findings.add('repairable', `task ${name} is ${row.status}, and ${row.waiting} of its dispatches wait`)
    }
    yield* checkTaskFields(
      rows.map(({ id }) => id),
      findings,
    )
    if (rows.length < tasksPerPage) break
    after = rows.at(-1)!.id
  }
  for (const { task, count } of yield* all('looseDispatches', {}))
    findings.add(
      'repairable',
      `${count} dispatches belong to a task that is not there (${JSON.stringify(task)})`,
    )
}
