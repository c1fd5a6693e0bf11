import { type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { openStore } from '../../src/stores/open.ts'

/** Copies a conversation from a file to a database, and stops responding at one of its records: a
 *  transaction with earlier ones may be open then. Its parent kills it there. */
const [file, url, id, stopsAt] = process.argv.slice(2) as [string, string, string, string]
const source = await openStore(file)
const target = await openStore(url, { indexing: 'manual' })
await takeIn(target, records())

async function* records(): AsyncGenerator<SourcedRecord> {
  let n = 0
  for await (const record of source.readRecords(id as never)) {
    if (++n === Number(stopsAt)) {
      process.stdout.write('stopped\n', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
      await new Promise(() => {})
    }
    if (record.kind !== 'unreadable') yield { record, file: '', line: 0 }
  }
}
