import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openTranscripts } from '../../../src/acp/seat/transcript-file.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { scripted } from '../../../src/models/scripted.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { thisHolder } from '../../../src/system/holder.ts'
import { timesGiven } from '../agents/model-server.ts'
import { openHosting } from '../host/hosting.ts'

/** A conversation in a store, and a folder for transcripts. */
async function openPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'skein-transcripts-'))
  const store = await openSqliteStore(':memory:')
  const { branch } = await store.create({})
  const { head } = await store.append(branch, null, [
    { role: 'user', content: 'a question' },
    { role: 'assistant', content: 'an answer' },
  ])
  const open = () => openTranscripts({ store, directory: '/w', folder }).of(branch)
  return {
    ...{ folder, store, branch, head: head!, open },
    async [Symbol.asyncDispose]() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

describe('the file with a conversation', () => {
  it('is private, has the same path in every process, and is removed by the last one', async () => {
    await using place = await openPlace()
    const [one, two] = [place.open(), place.open()]
    const file = (await one.write(place.head))!
    expect(await two.write(place.head)).toBe(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toContain('User: a question\n')
    await one.remove()
    expect(existsSync(file)).toBe(true)
    await two.remove()
    expect(readdirSync(place.folder)).toEqual([])
  })

  it('is removed at the next start if its process has died, and not while one lives', async () => {
    await using place = await openPlace()
    const file = (await place.open().write(place.head))!
    const [mark] = readdirSync(place.folder).filter(name => name.includes('.held-'))
    await place.open().write(place.head)
    expect(existsSync(file)).toBe(true)
    for (const name of readdirSync(place.folder).filter(one => one.includes('.held-')))
      writeFileSync(join(place.folder, name), JSON.stringify({ ...thisHolder(), startedAt: 1 }))
    writeFileSync(join(place.folder, `${mark}-new`), 'half')
    const other = await openSqliteStore(':memory:')
    const { branch } = await other.create({})
    const { head } = await other.append(branch, null, [{ role: 'user', content: 'x' }])
    await openTranscripts({ store: other, directory: '/w', folder: place.folder }).of(branch).write(head!)
    expect(existsSync(file)).toBe(false)
    expect(readdirSync(place.folder)).toHaveLength(2)
    await other.close()
  })

  it('is not written into a folder that others can read', async () => {
    await using place = await openPlace()
    const { chmodSync } = await import('node:fs')
    chmodSync(place.folder, 0o755)
    const transcript = place.open()
    const file = (await transcript.write(place.head))!
    expect(file.startsWith(`${place.folder}/`)).toBe(false)
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700)
    await transcript.remove()
    rmSync(join(file, '..'), { recursive: true })
  })
})

const talk = (count: number): readonly NewMessage[] =>
  Array.from({ length: count }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: `message ${i}.`,
  }))

describe('a summary for the next agent (S4-29)', () => {
  async function stored(count: number) {
    const hosting = await openHosting()
    const { branch } = await hosting.store.create({ key: 'talk' })
    const [first, ...rest] = talk(count)
    await hosting.store.append(branch, null, [first!, ...rest])
    const summaries = async () => (await hosting.store.listSummaries(branch.conversationId, {})).items
    return { hosting, summaries }
  }

  it('is made by our model for more than 20 messages, once, and told before them', async () => {
    const { hosting, summaries } = await stored(24)
    await using _ = hosting
    const model = scripted({ script: ['THE SUMMARY', 'ANOTHER'] })
    await hosting.host('forgetful', { summaries: { model } }).say('talk', 'continue')
    expect(timesGiven(hosting.model.last, 'Previous conversation summary:\nTHE SUMMARY')).toBe(1)
    expect(timesGiven(hosting.model.last, 'message 0.')).toBe(1)
    await hosting.host('forgetful', { summaries: { model }, name: 'another' }).say('talk', 'and now')
    expect(timesGiven(hosting.model.last, 'THE SUMMARY')).toBe(1)
    expect((await summaries()).map(({ text }) => text)).toEqual(['THE SUMMARY'])
  })

  it('is not made for 20 messages, nor without leave, nor of quotations if the model fails', async () => {
    for (const [count, options] of [
      [20, { summaries: { model: scripted({ script: ['NO'] }) } }],
      [24, {}],
      [24, { summaries: { model: scripted({ script: ['/fail 500'] }) } }],
    ] as const) {
      const { hosting, summaries } = await stored(count)
      await using _ = hosting
      const model = 'summaries' in options && count === 24 ? failing : null
      await hosting.host('forgetful', model ? { summaries: { model } } : options).say('talk', 'continue')
      expect(await summaries()).toEqual([])
      expect(timesGiven(hosting.model.last, 'message 0.')).toBe(1)
    }
  })

  it('is made by the agent that leaves, in its own session, and is not a part of the conversation', async () => {
    const { hosting, summaries } = await stored(24)
    await using _ = hosting
    const leaving = hosting.host('good', { summaries: { model: null } })
    await leaving.say('talk', 'continue')
    hosting.model.answerTo('Another agent will continue', { type: 'text', text: 'SUMMARY OF GOOD' })
    await leaving.close()
    expect((await summaries()).map(({ text }) => text)).toEqual(['SUMMARY OF GOOD'])
    expect(await hosting.words('talk')).toHaveLength(26)
    await hosting.host('forgetful').say('talk', 'and now')
    expect(timesGiven(hosting.model.last, 'SUMMARY OF GOOD')).toBe(1)
  })
})

const failing = {
  id: 'failing',
  // biome-ignore lint/correctness/useYield: it fails before its first event
  async *stream(): AsyncGenerator<never> {
    throw new Error('no model')
  },
}
