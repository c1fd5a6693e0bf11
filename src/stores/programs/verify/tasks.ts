import { all, type Program } from '../../engine/engine.ts'
import type { FindingList } from './findings.ts'

const page = 200

/** Checks that each task has its dispatches, numbered without a gap, and that one of them is the active one if
 *  the task is queued or running. */
export function* checkTasks(findings: FindingList): Program<void> {
  for (let after = ''; ; ) {
    const rows = yield* all('checkedTasks', { after, limit: page })
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
    if (rows.length < page) break
    after = rows.at(-1)!.id
  }
  for (const { task, count } of yield* all('looseDispatches', {}))
    findings.add(
      'repairable',
      `${count} dispatches belong to a task that is not there (${JSON.stringify(task)})`,
    )
}
