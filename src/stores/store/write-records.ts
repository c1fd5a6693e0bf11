import { checkNonEmpty } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { StoredRecord, Written } from '../../core/stored.ts'
import { checkStored } from '../check/record.ts'
import type { Engine } from '../engine/engine.ts'
import { type CheckedRecord, writeStored } from '../programs/records/write-records.ts'

/** Checks records and takes them in, in one transaction; see `Mover`. */
export async function writeRecords(engine: Engine, records: NonEmpty<StoredRecord>): Promise<Written> {
  checkNonEmpty(records, 'records')
  const given = records.map(checkedRecord)
  return engine.write(() => writeStored(given, engine.source.now()))
}

/** One that cannot be taken must not keep the others out. */
function checkedRecord(record: unknown): CheckedRecord {
  try {
    return { record: checkStored(record) }
  } catch (error) {
    if (error instanceof InvalidError) return { fault: error.message }
    throw error
  }
}
