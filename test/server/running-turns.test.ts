import { expect, it } from 'vitest'
import type { Reply } from '../../src/agent/run/events.ts'
import { startRun } from '../../src/agent/run/run.ts'
import { BusyError } from '../../src/core/errors.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { beginTurn } from '../../src/recorder/begin-turn.ts'
import { createRunningTurns, type TurnStart } from '../../src/server/turns/running-turns.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

it('refuses a turn on a busy branch, and waits if the end of the other one is stored', async () => {
  await using store = await openSqliteStore(':memory:')
  const { branch } = await store.create()
  const answered = Promise.withResolvers<void>()
  const confirmed = Promise.withResolvers<void>()
  const events: string[] = []
  /** An agent whose turn is stored some time before the disk confirms it. */
  const send: TurnStart['agent']['send'] = (_, message, options) =>
    startRun(async emit => {
      const key = options!.key!
      const turn = await beginTurn(store, branch, { key, words: [message as NewMessage] })
      emit({ type: 'started', turn: key, branch, forked: false })
      events.push(`${key} started`)
      await answered.promise
      await turn.end('complete')
      events.push(`${key} stored`)
      await confirmed.promise
      events.push(`${key} confirmed`)
      return {} as Reply
    })
  const turns = createRunningTurns({ most: 9, onCount: () => undefined, onFailed: () => undefined })
  const start = (key: string) =>
    turns.start({
      tenant: 'default',
      branch,
      key,
      message: { role: 'user', content: key },
      agent: { send, resume: () => expect.fail('not resumed') },
      store,
      requestId: key,
    })

  await start('first')
  await expect(start('second')).rejects.toThrow(BusyError)
  answered.resolve()
  await expect.poll(() => events).toContain('first stored')
  const third = start('third')
  // A turn of the event loop for each call of the store that it makes.
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
  expect(events).toEqual(['first started', 'first stored'])
  confirmed.resolve()
  await third
  expect(events.slice(2)).toEqual(['first confirmed', 'third started'])
  await turns.close(1_000)
})
