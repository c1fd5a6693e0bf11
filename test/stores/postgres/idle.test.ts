import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Pool, type PoolClient } from 'pg'
import { expect, it, vi } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { freshDatabase } from './database.ts'

const url = await freshDatabase()
const root = join(import.meta.dirname, '../../..')

/** Runs a module until it ends by itself. Returns its output and how long it lived after its last line. */
async function outlived(code: string): Promise<{ readonly said: string; readonly ms: number }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  let at = performance.now()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    at = performance.now()
  })
  const [exitCode] = await once(child, 'close')
  expect(exitCode).toBe(0)
  return { said, ms: performance.now() - at }
}

it('does not keep a process alive that forgets to close its store', async () => {
  const { said, ms } = await outlived(`
    import { openStore } from './src/stores/open.ts'
    const store = await openStore(${JSON.stringify(url)})
    const { branch } = await store.create()
    await store.append(branch, null, [{ role: 'user', content: 'Hello' }])
    await store.search('hello')
    console.log('done')`)
  expect(said).toBe('done\n')
  // Before the pool's own idle timeout of 10 s.
  expect(ms).toBeLessThan(8_000)
})

it('survives a connection that breaks in the moment in which the pool hands it out', async () => {
  const clients: PoolClient[] = []
  const connect = vi.spyOn(Pool.prototype, 'connect')
  const store = await openPostgresStore(url, { indexing: 'manual', pool: { max: 1 } })
  const pool = connect.mock.contexts[0] as Pool
  connect.mockRestore()
  pool.on('acquire', client => clients.push(client))
  const { conversation } = await store.create()
  await setImmediate() // the connection is in the pool again
  // The pool hands the connection out in the next tick, and its socket reports the error right after that,
  // before the store can listen to it.
  const read = store.getConversation(conversation.id)
  const { stream } = (clients[0] as unknown as { connection: { stream: { destroy(error: Error): void } } })
    .connection
  stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await expect(read).rejects.toMatchObject({ code: 'unavailable' })
  expect((await store.getConversation(conversation.id)).id).toBe(conversation.id)
  await store.close()
})
