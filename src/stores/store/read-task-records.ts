import { ReadOnlyError } from '../../core/errors.ts'
import type { TaskRecord } from '../../core/task-record.ts'
import type { Engine } from '../engine/engine.ts'
import { readTaskRecord, taskIds } from '../programs/records/tasks.ts'

const page = 200

/** All tasks, one at a time. Those that are deleted meanwhile are left out. A file that could not be migrated
 *  has none. */
export async function* readTaskRecords(engine: Engine): AsyncGenerator<TaskRecord> {
  for (let after = ''; ; ) {
    let ids: readonly string[]
    try {
      ids = await engine.query(() => taskIds(after, page))
    } catch (error) {
      if (error instanceof ReadOnlyError) return
      throw error
    }
    for (const id of ids) {
      const record = await engine.read(() => readTaskRecord(id))
      if (record) yield record
    }
    if (ids.length < page) return
    after = ids.at(-1)!
  }
}
