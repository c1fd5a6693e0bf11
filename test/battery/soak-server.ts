import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtCommand } from '../cli/built-command.ts'
import { strangeEnvironment } from '../support/place.ts'
import type { SoakSubject } from './soak.ts'
import { turnLength, words } from './writer.ts'

/** Turns in a conversation before the next one begins. */
const turnsPerConversation = 100

/** Starts `skein serve` on a store of its own in `folder`, with these options of Node and variables. The
 *  operations are those of `soak-child.ts`, over HTTP. */
export async function startServer(
  folder: string,
  options: readonly string[],
  variables: NodeJS.ProcessEnv,
): Promise<Omit<SoakSubject, 'logBytes' | 'report'>> {
  const env = { ...strangeEnvironment(folder, process.env), ...variables }
  const args = [...options, builtCommand(), 'serve', '--port', '0', '--json', '--db', join(folder, 'soak.db')]
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  child.stdout.setEncoding('utf8')
  while (!said.includes('\n')) {
    const [chunk] = await Promise.race([once(child.stdout, 'data'), ended])
    if (typeof chunk !== 'string') throw new Error('skein serve has ended')
    said += chunk
  }
  const { url, token_file } = JSON.parse(said) as { url: string; token_file: string }
  const token = readFileSync(token_file, 'utf8').trim()
  let place: { id: string; turns: number } | undefined
  return {
    pid: child.pid!,
    perform,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      if (code !== 0) throw new Error(`skein serve ended with ${code}`)
    },
  }

  async function perform(n: number): Promise<void> {
    if (place === undefined || place.turns === turnsPerConversation) {
      const { id } = await send('POST', '/conversations', { key: `soak ${n}` })
      place = { id: id as string, turns: 0 }
    }
    const { id, turns } = place
    switch (n % 10) {
      case 1:
      case 6:
        return void (await send('GET', `/conversations/${id}?limit=20`))
      case 3:
        return void (await send('GET', '/conversations?limit=20'))
      case 5:
        return void (await send('GET', `/search?q=soak+${turns}&limit=5`))
      case 8: {
        const { name } = await send('POST', `/conversations/${id}/branches`, { name: `fork-${n}` })
        const message = { role: 'user', content: 'Or else?' }
        await send('POST', `/conversations/${id}/messages`, { branch: name, messages: [message] })
        return void (await send('DELETE', `/conversations/${id}/branches/${name}`))
      }
      default: {
        const messages = Array.from({ length: turnLength }, (_, i) => {
          return { role: i === 0 ? 'user' : 'assistant', content: words('soak', n, i) }
        })
        await send('POST', `/conversations/${id}/messages`, { messages })
        place.turns++
      }
    }
  }

  async function send(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}/api/v1${path}`, request)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
}
