// The faults that a developer met who had only the packed file (issue 18). Each check prints its name. The
// package check runs this in a project with the packed file.
//
//   node --expose-gc findings.mjs <address of PostgreSQL> [address of PgBouncer]
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateText } from 'ai'
import { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import { openStore, SkeinError } from 'skein'
import { createAgent, tool } from 'skein/agent'
import { recordTo } from 'skein/ai-sdk'
import { scripted } from 'skein/models'
import { openPostgresStore } from 'skein/postgres'
import { beginTurn } from 'skein/recorder'

const [url, pooler] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'findings-'))
const say = text => ({ role: 'user', content: text })

/** Answers of the AI SDK, for the models of each specification. */
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const numbered = () => {
  let n = 0
  return async () => ({
    content: [{ type: 'text', text: `answer ${++n}` }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: { inputTokens: tokens, outputTokens: tokens },
    warnings: [],
  })
}

/** Runs a program in the project to its end, for at most ten seconds. */
function program(code, env = {}) {
  const args = ['--input-type=module', '-e', code]
  const options = { encoding: 'utf8', timeout: 10_000, env: { ...process.env, ...env } }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options)
  assert.equal(status, 0, `${code}\nended with ${status}: ${stderr}`)
  return stdout
}

const checks = {
  async 'L1 refuses an address that it does not know'() {
    const before = readdirSync('.').length
    for (const address of ['postgress://user:secret@db/app', 'mysql://x', 'libsql://x'])
      await assert.rejects(openStore(address), { code: 'invalid' })
    assert.equal(readdirSync('.').length, before)
  },

  async 'L2 leaves no word of an erased message in the file'() {
    const file = join(folder, 'erased.db')
    const store = await openStore(file)
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, [say('my password is swordfish')])
    await store.eraseMessages(ids, { by: 'ada', reason: 'a password' })
    await store.close()
    assert.ok(!readFileSync(file, 'latin1').includes('swordfish'))
  },

  async 'L4 works behind PgBouncer in transaction mode'() {
    if (!pooler) return 'not run: no pgbouncer'
    await using store = await openStore(pooler)
    const writers = Array.from({ length: 20 }, async (_, i) => {
      const { branch } = await store.findOrCreate(`pooled ${i}`)
      let head = branch.head
      for (let n = 0; n < 10; n++) head = (await store.append(branch, head, [say(`${n}`)])).head
    })
    await Promise.all(writers)
    const { items } = await store.listConversations({ keyPrefix: 'pooled ' })
    assert.equal(
      items.reduce((sum, one) => sum + one.messages, 0),
      200,
    )
  },

  async 'L5 turns errors of the driver into errors with a code'() {
    const elsewhere = new URL(url)
    elsewhere.pathname = '/no_such_database'
    await assert.rejects(openStore(elsewhere.href), SkeinError)
  },

  async 'L6 lets a process end that has not closed its store'() {
    const code = `import { openStore } from 'skein'
      const store = await openStore(process.env.DATABASE_URL)
      await store.create()
      console.log('done')`
    assert.equal(program(code, { DATABASE_URL: url }), 'done\n')
  },

  async 'L7 takes no living turn over for a wrong clock, and says that it waits'() {
    const key = 'clocks'
    await using store = await openStore(url)
    const { branch } = await store.findOrCreate(key)
    const living = await beginTurn(store, branch, { words: [say('Hi')] })
    const source = { now: () => Date.now() + 600_000, uuid: () => crypto.randomUUID() }
    await using ahead = await openPostgresStore(url, { source })
    await assert.rejects(
      createAgent({ store: ahead, model: scripted() }).ask(key, 'Me', { onBusy: 'refuse' }),
      {
        code: 'busy',
      },
    )
    const run = createAgent({ store: ahead, model: scripted() }).send(key, 'Me')
    for await (const event of run) {
      if (event.type !== 'waiting') continue
      assert.ok(event.holder && event.until)
      await living.add([{ role: 'assistant', content: 'Yes?' }])
      await living.end('complete')
    }
    assert.equal((await store.findByKey(key)).branch.name, 'main')
  },

  async 'L9 finds the newest path by its key after a second answer'() {
    await using store = await openStore(':memory:')
    const model = new MockLanguageModelV4({ doGenerate: numbered() })
    const messages = [say('Name a colour.')]
    for (let n = 0; n < 2; n++) {
      const recorded = recordTo(store, 'colours')
      await generateText({ model: recorded(model), messages })
      await recorded.end()
    }
    const { branch, conversation } = await store.findByKey('colours')
    const { items } = await store.listConversations({ keyPrefix: 'colours' })
    const names = [branch.name, conversation.activeBranch, items[0].branch.name]
    assert.deepEqual(names, ['main-2', 'main-2', 'main-2'])
  },

  async 'L11 takes models of the AI SDK in every version'() {
    await using store = await openStore(':memory:')
    const old = async () => ({
      content: [{ type: 'text', text: 'answer 1' }],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      warnings: [],
    })
    const models = {
      v2: { specificationVersion: 'v2', provider: 'old', modelId: 'old', supportedUrls: {}, doGenerate: old },
      v3: new MockLanguageModelV3({ doGenerate: numbered() }),
      v4: new MockLanguageModelV4({ doGenerate: numbered() }),
    }
    for (const [key, model] of Object.entries(models)) {
      const recorded = recordTo(store, key)
      const { text } = await generateText({ model: recorded(model), prompt: 'Hi' })
      assert.equal(text, 'answer 1')
      await recorded.end()
      assert.equal((await store.findByKey(key)).conversation.messages, 2)
    }
  },

  async 'L12 answers an approval in another process, and runs the call once'() {
    const file = join(folder, 'approvals.db')
    const ledger = join(folder, 'ledger')
    const start = `import { appendFileSync } from 'node:fs'
      import { openStore } from 'skein'
      import { createAgent, tool } from 'skein/agent'
      import { scripted } from 'skein/models'
      const pay = tool({ input: { type: 'object' }, needsApproval: true,
        run: () => { appendFileSync(${JSON.stringify(ledger)}, 'paid'); return 'paid' } })
      const store = await openStore(${JSON.stringify(file)})
      const script = ({ messages }) =>
        messages.at(-1).role === 'user' ? { calls: [{ name: 'pay', input: {} }] } : 'Paid.'
      const agent = createAgent({ store, model: scripted({ script }), tools: { pay } })\n`
    program(`${start} await agent.ask('bills', 'Pay.')`)
    assert.ok(!existsSync(ledger))
    const answer = `const [waiting] = await store.listApprovals()
      await store.answerApproval(waiting.conversationId, waiting.id, { answer: 'allow', by: 'ada' })`
    program(`${start} ${answer}`)
    const resume = `console.log((await agent.resume('bills').result()).text, (await store.listApprovals()).length)`
    assert.equal(program(`${start} ${resume}`), 'Paid. 0\n')
    assert.equal(readFileSync(ledger, 'utf8'), 'paid')
  },

  async 'L15 keeps nothing of a turn in a signal that lives long'() {
    await using store = await openStore(':memory:')
    const { signal } = new AbortController()
    const agent = createAgent({ store, model: scripted({ script: () => 'x' }) })
    for (let n = 0; n < 40; n++) await agent.ask(`signal ${n}`, 'Hi', { signal })
    for (let n = 0; n < 4; n++) {
      await new Promise(setImmediate)
      globalThis.gc()
    }
    // Signals that `AbortSignal.any` has made of it, and that a listener keeps.
    const made = Object.getOwnPropertySymbols(signal).find(name => name.description === 'kDependantSignals')
    const kept = made === undefined ? 0 : (signal[made]?.size ?? 0)
    assert.ok(kept + getEventListeners(signal, 'abort').length < 10, `it keeps ${kept} signals`)
  },

  async 'L16 says that a tool ran whose result cannot be stored'() {
    const circular = {}
    circular.self = circular
    const results = { big: 10n, circular, map: new Map([[1, 2]]) }
    const tools = Object.fromEntries(
      Object.entries(results).map(([name, result]) => [
        name,
        tool({ description: name, input: { type: 'object' }, run: () => result }),
      ]),
    )
    const calls = Object.keys(results).map(name => ({ name, input: {} }))
    await using agent = createAgent({ model: scripted({ script: [{ calls }, 'Done.'] }), tools })
    const ended = []
    for await (const event of agent.send('results', 'Go')) if (event.type === 'tool_ended') ended.push(event)
    assert.equal(ended.length, 3)
    for (const { output } of ended) assert.match(String(output), /The tool ran\. Its result cannot be stored/)
  },

  async 'L17 answers a wrong argument with a sentence'() {
    await using store = await openStore(':memory:')
    const circular = {}
    circular.self = circular
    const { branch } = await store.create()
    const wrong = [
      () => createAgent({ store, model: { a: 1 } }),
      () => createAgent({ store, model: scripted(), strategy: 'summarisation' }),
      () => createAgent({ store, model: scripted(), tools: { pay: { execute: 1 } } }),
      () => store.append(branch, null, [{ role: 'user', content: 'x', metadata: circular }]),
    ]
    for (const call of wrong) {
      const error = await Promise.resolve()
        .then(call)
        .catch(thrown => thrown)
      assert.ok(error instanceof SkeinError, `${call}: ${error}`)
      assert.ok(error.message.length < 300, error.message)
    }
  },
}

for (const [name, check] of Object.entries(checks)) {
  const note = await check()
  console.log(note === undefined ? name : `${name}: ${note}`)
}
rmSync(folder, { recursive: true })
