import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { type ModelHome, modelHome, models } from '../cli/real-model.ts'
import { storeFile } from '../cli/stock.ts'
import { type Terminal, terminal } from '../cli/terminal.ts'
import type { Reply } from '../support/models/reply.ts'
import type { SeenRequest } from '../support/models/server.ts'
import { note } from './note.ts'
import { isFull, size } from './size.ts'

/** A day with the command in terminals of 80 columns, with models on the loopback server: what a user sees is
 *  recorded as text, so that it can be read. The gate plays it with one provider and a short lock. */
const providers = size<readonly (keyof typeof models)[]>({
  gate: ['anthropic'],
  full: ['anthropic', 'openai', 'compatible'],
})
const lockMs = size({ gate: 500, full: 25_000 })
/** The pauses of the model: in the gate, only their order matters. */
const pauseMs = size({ gate: 20, full: 2_500 })
const timeout = size({ gate: 180_000, full: 900_000 })
const patienceMs = size({ gate: 60_000, full: 120_000 })

/** Where the recording is written. Not in the temporary folder, which is removed after the run. */
const kept = join(import.meta.dirname, '../../node_modules/.cache/skein-day')
const recordings = process.env.DAY_RECORDINGS ?? (isFull ? kept : null)

const lastWords = (request: SeenRequest): string => {
  const text = JSON.stringify(request.messages.at(-1) ?? '')
  return text.toLowerCase()
}

/** The model of the day, by what was said last. */
function answer(request: SeenRequest): Reply {
  const said = lastWords(request)
  if (said.includes('think about')) {
    const thinking = Array.from({ length: 8 }, (_, i) => `Step ${i + 1} of the reasoning. `)
    return {
      parts: [
        ...thinking.flatMap(piece => [{ thinking: piece }, { delayMs: pauseMs / 10 }]),
        { text: 'Use full jitter: it spreads the retries over the whole interval.' },
      ],
      usage: { input: 1_200, output: 340, reasoning: 300 },
    }
  }
  if (said.includes('die in the middle'))
    return { parts: [{ text: ['The first half of the answer ', 'arrives, and then '] }, { cut: 'socket' }] }
  if (said.includes('forbidden')) return { parts: [{ text: 'I cannot help with that.' }], finish: 'refused' }
  if (said.includes('much too long')) {
    return { parts: [{ text: 'This answer reaches the limit of the outp' }], finish: 'length' }
  }
  if (said.includes('busy hour'))
    return { status: 429, message: 'Rate limit reached', retryAfter: isFull ? 1 : 0 }
  if (said.includes('slowly'))
    return { parts: [{ text: 'One, ' }, { delayMs: pauseMs }, { text: 'two, three.' }] }
  const markdown = said.includes('markdown')
    ? '# A heading\n\nSome **bold** words and `code`:\n\n```ts\nconst delay = Math.random() * cap\n```\n\n- one\n- two\n'
    : 'The certificate reload rebuilds the listener, so every socket closes at once. '
  return { parts: [{ text: markdown }], usage: { input: 640, output: 42 } }
}

/** A command that has run to its end in a terminal. */
async function played(
  here: ModelHome,
  args: readonly string[],
): Promise<{ readonly screen: string; readonly scene: string }> {
  using shown = terminal(here, args, { patienceMs, env: { PAGER: 'cat' } })
  const code = await shown.ended
  const typed = args.map(word => (/\s/.test(word) ? JSON.stringify(word) : word)).join(' ')
  const screen = shown.screen()
  return { screen, scene: `$ skein ${typed}\n${screen.trimEnd()}\n[exit ${code}]` }
}

/** Writes down what each terminal showed. */
function recorder(name: string) {
  const scenes: string[] = []
  return {
    /** Runs a command to its end. */
    async run(here: ModelHome, ...args: string[]): Promise<string> {
      const { screen, scene } = await played(here, args)
      scenes.push(scene)
      return screen
    },
    /** Runs commands that do not change what the others show, at the same time. */
    async runAll(here: ModelHome, commands: readonly (readonly string[])[]): Promise<readonly string[]> {
      const all = await Promise.all(commands.map(args => played(here, args)))
      scenes.push(...all.map(({ scene }) => scene))
      return all.map(({ screen }) => screen)
    },
    keep(title: string, shown: Terminal): void {
      scenes.push(`=== ${title}\n${shown.screen().trimEnd()}`)
    },
    write(): void {
      if (recordings === null) return
      mkdirSync(recordings, { recursive: true })
      const file = join(recordings, `${name}.txt`)
      writeFileSync(file, `${scenes.join('\n\n')}\n`)
      note('recording', file)
    },
    text: () => scenes.join('\n\n'),
  }
}

const idle = /› $/

it.each(providers)('a day with a model of %s', { timeout }, async provider => {
  await using here = await modelHome(answer, models[provider])
  const record = recorder(provider)
  const say = async (chat: Terminal, text: string) => {
    chat.type(`${text}\r`)
    await chat.seeNext(idle)
  }
  try {
    // One-shot prompts.
    const first = await record.run(
      here,
      'Staging drops every websocket at 02:00, then all clients reconnect. Why?',
    )
    expect(first).toContain('The certificate reload')
    await record.run(here, 'And what helps?')
    await record.run(here, '-n', 'Answer in markdown, please')
    await record.run(here, 'ls')

    // A chat: thinking, a refusal, a cut answer, a dead stream, a pause, branches.
    {
      using chat = terminal(here, ['chat', '-n'], { patienceMs })
      await chat.see(idle)
      await say(chat, 'How do I stop the reconnect storm?')
      await say(chat, 'Think about jitter')
      await chat.see('full jitter')
      await say(chat, 'Say something forbidden')
      await say(chat, 'Give me an answer that is much too long')
      await say(chat, 'Now die in the middle')
      await say(chat, 'Count slowly')
      await chat.see('two, three.')
      await say(chat, '/tree')
      await say(chat, '/context')
      await say(chat, '/retry')
      await say(chat, '/search jitter')
      await say(chat, '/nonsense')
      chat.type('/quit\r')
      await chat.ended
      record.keep('chat', chat)
    }

    // Forks, search, reading.
    const ids = JSON.parse((await here.skein(['ls', '--json=id,title'])).stdout) as { id: string }[]
    const [chatted] = ids
    const path = JSON.parse((await here.skein(['show', chatted!.id, '--json'])).stdout) as {
      path: { id: string; role: string }[]
    }
    await record.run(here, 'fork', path.path[1]!.id.slice(0, 8), '--name', 'sse')
    await record.run(here, '-c', 'sse', 'What about server-sent events?')
    await record.runAll(here, [
      ['branches'],
      ['tree', chatted!.id.slice(0, 8)],
      ['search', 'jitter'],
      ['show'],
      ['-c', 'nosuchbranch', 'hello there'],
    ])
    const busy = await record.run(here, '-n', 'A question in the busy hour')
    expect(busy).toMatch(/after\s+3\s+attempts\. Try again[\s\S]*\n! your message is saved as/)
    await record.run(here, '-c', 'sse', 'Back to the storm')

    // Two terminals in one conversation.
    {
      using one = terminal(here, ['chat'], { patienceMs })
      using two = terminal(here, ['chat'], { patienceMs })
      await Promise.all([one.see(idle), two.see(idle)])
      await say(two, 'The second terminal speaks')
      await say(one, 'The first terminal speaks after it')
      for (const chat of [one, two]) chat.type('/quit\r')
      await Promise.all([one.ended, two.ended])
      record.keep('two terminals: the first', one)
      record.keep('two terminals: the second', two)
    }

    // Another program locks the store during a chat; nothing is lost.
    {
      using chat = terminal(here, ['chat'], { patienceMs })
      await chat.see(idle)
      const holder = new BetterSqlite3(storeFile(here))
      holder.exec('BEGIN IMMEDIATE')
      chat.type('Words during the lock\r')
      await wait(lockMs)
      holder.exec('ROLLBACK')
      holder.close()
      await chat.seeNext(idle)
      await say(chat, 'Words after the lock')
      chat.type('/quit\r')
      await chat.ended
      record.keep(`a lock of ${lockMs / 1_000} s`, chat)
    }
    const [[after], checked] = await Promise.all([
      record.runAll(here, [['search', '"during the lock"'], ['stats'], ['ls', '--all']]),
      here.skein(['verify']),
    ])
    expect(after).toMatch(/during the lock/)
    expect(checked.code, checked.stderr).toBe(0)
    // No line is wider than the terminal, except for what was typed. One lock is one note.
    const wide = record
      .text()
      .split('\n')
      .filter(line => line.length > 80 && !line.startsWith('$ '))
    expect(wide).toEqual([])
    expect(record.text().match(/not saved yet|saved now/g) ?? []).toEqual(
      isFull ? ['not saved yet', 'saved now'] : [],
    )
    // The codes of network errors are for programs, and a price that is not known yet is left out.
    expect(record.text()).not.toMatch(/UND_ERR|ECONNRESET|free/)
  } finally {
    record.write()
  }
})
