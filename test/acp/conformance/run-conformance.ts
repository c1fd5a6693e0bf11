import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasValidValue, valuesOf } from './option-values.ts'
import { requirements } from './requirements.ts'
import { type AgentMessage, type AgentStart, startWire, type Wire } from './wire.ts'

/** The outcome of a requirement. `skip` says why it does not apply. */
export interface Verdict {
  readonly verdict: 'pass' | 'fail' | 'skip'
  readonly note: string
}

export type Verdicts = Readonly<Record<string, Verdict>>

export interface Subject extends AgentStart {
  /** A prompt whose answer takes at least some seconds; null if there is none. */
  readonly slowPrompt: string | null
  /** How long silence must last to conclude that nothing follows. */
  readonly quietMs: number
}

/** Throws to fail a requirement. */
function must(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what)
}

class Skip extends Error {}

const stopReasons = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']
const history = ['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk']

type Fields = Readonly<Record<string, unknown>>
const fields = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null ? value : {}) as Fields
const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((here, name) => fields(here)[name], value)

/** Runs all requirements against an agent. It is started twice: with version 1, and with an unknown one. */
export async function runConformance(subject: Subject): Promise<Verdicts> {
  const verdicts: Record<string, Verdict> = {}
  const wire = startWire(subject)
  const check = async (id: string, work: () => Promise<string | undefined> | string | undefined) => {
    must(id in requirements, `${id} is not a requirement`)
    try {
      verdicts[id] = { verdict: 'pass', note: (await work()) ?? '' }
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error)
      verdicts[id] = { verdict: error instanceof Skip ? 'skip' : 'fail', note }
    }
  }
  try {
    await checkAll(wire, subject, check)
  } finally {
    await wire.kill()
  }
  await check('INIT-003', async () => {
    const other = startWire(subject)
    try {
      const hello = await other.request('initialize', {
        protocolVersion: 65_535,
        clientCapabilities: {},
        info: { name: 'conformance', version: '1' },
      })
      const version = at(hello.result, 'protocolVersion')
      must(Number.isInteger(version) && version !== 65_535 && Number(version) >= 1, `answered ${version}`)
      return undefined
    } finally {
      await other.kill()
    }
  })
  return verdicts
}

type Check = (id: string, work: () => Promise<string | undefined> | string | undefined) => Promise<void>

async function checkAll(wire: Wire, { cwd, slowPrompt, quietMs }: Subject, check: Check): Promise<void> {
  const hello = await wire.request('initialize', {
    protocolVersion: 1,
    clientCapabilities: {},
    clientInfo: { name: 'conformance', version: '1' },
  })
  const can = (path: string) => {
    const value = at(hello.result, `agentCapabilities.${path}`)
    if (value === undefined || value === null || value === false) throw new Skip(`${path} is not offered`)
  }
  const ok = (message: AgentMessage) => {
    must(message.error === undefined, `error ${message.error?.code}: ${message.error?.message}`)
    return fields(message.result)
  }
  const begin = async (more: object = {}) => {
    const result = ok(await wire.request('session/new', { cwd, mcpServers: [], ...more }))
    must(typeof result.sessionId === 'string' && result.sessionId !== '', 'there is no session id')
    return { ...result, sessionId: result.sessionId as string } as Fields & { readonly sessionId: string }
  }
  const text = (words: string) => ({ type: 'text', text: words })
  const prompt = (sessionId: string, blocks: readonly object[], more: object = {}) =>
    wire.request('session/prompt', { sessionId, prompt: blocks, ...more })
  const stopped = async (answer: Promise<AgentMessage>) => {
    const { stopReason } = ok(await answer)
    must(stopReasons.includes(String(stopReason)), `the stop reason is ${stopReason}`)
    return String(stopReason)
  }
  const updatesSince = (from: number, sessionId: string) =>
    wire.messages
      .slice(from)
      .filter(({ method, params }) => method === 'session/update' && params?.sessionId === sessionId)
      .map(({ params }) => String(at(params, 'update.sessionUpdate')))

  await check('INIT-001', () => must(Number.isInteger(ok(hello).protocolVersion), 'no version') as undefined)
  await check('INIT-002', () => must(ok(hello).protocolVersion === 1, 'not version 1') as undefined)
  await check('INIT-004', () => {
    const { name, version } = fields(ok(hello).agentInfo)
    must(typeof name === 'string' && typeof version === 'string', 'no name and version')
    return `${name} ${version}`
  })
  const authMethods = (at(hello.result, 'authMethods') ?? []) as readonly Fields[]
  await check('AUTH-001', () => {
    must(new Set(authMethods.map(({ id }) => id)).size === authMethods.length, 'ids occur twice')
    return undefined
  })
  await check(
    'AUTH-002',
    () => must(!authMethods.some(({ type }) => type === 'terminal'), 'terminal') as undefined,
  )
  await check('AUTH-003', () => {
    throw new Skip('it needs credentials')
  })
  await check('AUTH-004', () => {
    can('auth.logout')
    throw new Skip('it would revoke credentials')
  })

  const first = await begin()
  await check('SESSION-001', () => first.sessionId)
  await check(
    'SESSION-002',
    async () => must((await begin()).sessionId !== first.sessionId, 'same') as undefined,
  )
  await check('AUTH-005', () => undefined)
  await check('PROMPT-001', () => stopped(prompt(first.sessionId, [text('Say hello.')])))
  await check('PROMPT-002', () => {
    const updates = wire.messages.filter(({ method }) => method === 'session/update')
    must(
      updates.every(({ params }) => typeof params?.sessionId === 'string'),
      'an update without a session',
    )
    return `${updates.length} updates`
  })
  const link = { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt' }
  await check('PROMPT-003', () => stopped(prompt(first.sessionId, [text('Say hello.'), link])))
  await check('META-001', () => {
    const traceparent = '00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01'
    return stopped(prompt(first.sessionId, [text('Say hello.')], { _meta: { traceparent } }))
  })
  const media = async (capability: string, block: object) => {
    can(`promptCapabilities.${capability}`)
    return stopped(prompt(first.sessionId, [text('Say hello.'), block]))
  }
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
  await check('PROMPTCAP-001', () => media('image', { type: 'image', data, mimeType: 'image/png' }))
  await check('PROMPTCAP-002', () =>
    media('audio', { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }),
  )
  const resource = { uri: 'file:///b.txt', text: 'words', mimeType: 'text/plain' }
  await check('PROMPTCAP-003', () => media('embeddedContext', { type: 'resource', resource }))

  await check('JSONRPC-001', async () => {
    const answer = await wire.request('session/new', { cwd, mcpServers: [] }, 'a-text')
    return must(answer.id === 'a-text', 'another id') as undefined
  })
  const unknown = await wire.request('no/such_method', {})
  await check(
    'JSONRPC-004',
    () => must(unknown.error?.code === -32_601, `${unknown.error?.code}`) as undefined,
  )
  await check('JSONRPC-005', async () => must((await begin()).sessionId !== '', '') as undefined)
  await check('EXT-001', async () => {
    await wire.request('_conformance/ping', {})
    return undefined
  })
  await check('JSONRPC-003', async () => {
    const before = wire.messages.length
    wire.notify('_conformance/note', {})
    wire.notify('session/cancel', { sessionId: first.sessionId })
    await wire.quiet(quietMs)
    const answers = wire.messages.slice(before).filter(({ method }) => method === undefined)
    return must(answers.length === 0, `${answers.length} responses`) as undefined
  })

  await check('MODES-001', () => {
    const { currentModeId, availableModes } = modesOf(first)
    must(availableModes.includes(currentModeId), `${currentModeId} is not a mode`)
    return availableModes.join(', ')
  })
  await check('MODES-002', async () => {
    const { sessionId, ...begun } = await begin()
    const { currentModeId, availableModes } = modesOf(begun)
    const modeId = availableModes.find(one => one !== currentModeId)
    if (modeId === undefined) throw new Skip('there is one mode')
    ok(await wire.request('session/set_mode', { sessionId, modeId }))
    return modeId
  })
  const optionsOf = (value: unknown) => {
    const options = at(value, 'configOptions') as readonly Fields[] | null | undefined
    if (!options?.length) throw new Skip('there are no options')
    return options
  }
  await check('CONFIG-001', () => {
    for (const option of optionsOf(first)) must(hasValidValue(option), `${option.id}: ${option.currentValue}`)
    return undefined
  })
  await check('CONFIG-002', async () => {
    const begun = await begin()
    const options = optionsOf(begun)
    const select = options.find(one => valuesOf(one).some(value => value !== one.currentValue))
    if (!select) throw new Skip('no option has a second value')
    const value = valuesOf(select).find(one => one !== select.currentValue)!
    const params = { sessionId: begun.sessionId, configId: select.id, value }
    const { configOptions } = ok(await wire.request('session/set_config_option', params))
    const after = new Map((configOptions as Fields[]).map(one => [one.id, one.currentValue]))
    for (const { id } of options) must(after.has(id), `${id} is missing`)
    must(after.get(select.id) === value, `${select.id} is ${after.get(select.id)}`)
    return `${select.id}: ${value}`
  })
  await check('CONFIG-003', () => {
    const options = (first.configOptions ?? []) as readonly Fields[]
    return must(!options.some(({ type }) => type === 'boolean'), 'a boolean option') as undefined
  })
  await check('ADDDIRS-001', async () => {
    can('sessionCapabilities.additionalDirectories')
    await begin({ additionalDirectories: [tmpdir()] })
    return undefined
  })

  await check('CANCEL-001', async () => {
    if (slowPrompt === null) throw new Skip('there is no slow prompt')
    const answer = prompt(first.sessionId, [text(slowPrompt)])
    await soon(() => wire.messages.at(-1)?.method === 'session/update')
    wire.notify('session/cancel', { sessionId: first.sessionId })
    const reason = await stopped(answer)
    return must(reason === 'cancelled', reason) as undefined
  })
  await check('CANCEL-002', async () => {
    if (slowPrompt === null) throw new Skip('there is no slow prompt')
    const ended = wire.messages.length
    await wire.quiet(quietMs)
    const late = updatesSince(ended, first.sessionId)
    return must(late.length === 0, late.join(', ')) as undefined
  })

  await check('LOAD-001', async () => {
    can('loadSession')
    ok(await wire.request('session/load', { sessionId: first.sessionId, cwd, mcpServers: [] }))
    return undefined
  })
  await check('LOAD-002', async () => {
    can('loadSession')
    const answer = await wire.request('session/load', { sessionId: first.sessionId, cwd, mcpServers: [] })
    const ended = wire.messages.indexOf(answer)
    await wire.quiet(quietMs)
    const late = updatesSince(ended + 1, first.sessionId)
    return must(late.length === 0, late.join(', ')) as undefined
  })
  await check('LOAD-003', async () => {
    can('loadSession')
    const { sessionId } = await begin()
    const { result, error } = await wire.request('session/load', { sessionId, cwd, mcpServers: [] })
    must(error === undefined, `a new session: ${error?.code}`)
    return must(typeof result === 'object' && result !== null, `${result}`) as undefined
  })
  await check('RESUME-001', async () => {
    can('sessionCapabilities.resume')
    const { sessionId } = await begin()
    ok(await wire.request('session/resume', { sessionId, cwd }))
    return undefined
  })
  await check('RESUME-002', async () => {
    can('sessionCapabilities.resume')
    const before = wire.messages.length
    const answer = await wire.request('session/resume', { sessionId: first.sessionId, cwd })
    ok(answer)
    const updates = wire.messages.slice(before, wire.messages.indexOf(answer))
    const replayed = updates.map(({ params }) => String(at(params, 'update.sessionUpdate')))
    return must(!replayed.some(kind => history.includes(kind)), replayed.join(', ')) as undefined
  })
  await check('LIST-001', async () => {
    can('sessionCapabilities.list')
    return must(Array.isArray(ok(await wire.request('session/list', {})).sessions), 'no array') as undefined
  })
  await check('LIST-002', async () => {
    can('sessionCapabilities.list')
    const elsewhere = join(tmpdir(), randomUUID())
    const { sessions } = ok(await wire.request('session/list', { cwd: elsewhere }))
    return must(Array.isArray(sessions) && sessions.length === 0, JSON.stringify(sessions)) as undefined
  })
  await check('CLOSE-001', async () => {
    can('sessionCapabilities.close')
    const { sessionId } = await begin()
    ok(await wire.request('session/close', { sessionId }))
    return undefined
  })
  await check('CLOSE-002', async () => {
    can('sessionCapabilities.close')
    if (slowPrompt === null) throw new Skip('there is no slow prompt')
    const { sessionId } = await begin()
    const answer = prompt(sessionId, [text(slowPrompt)])
    await soon(() => updatesSince(0, sessionId).some(kind => history.includes(kind)))
    const closing = wire.request('session/close', { sessionId })
    const reason = await stopped(answer)
    ok(await closing)
    return must(reason === 'cancelled', reason) as undefined
  })
  await check('DELETE-001', async () => {
    can('sessionCapabilities.delete')
    const { sessionId } = await begin()
    ok(await wire.request('session/delete', { sessionId }))
    return undefined
  })
  await check('DELETE-002', async () => {
    can('sessionCapabilities.delete')
    ok(await wire.request('session/delete', { sessionId: randomUUID() }))
    return undefined
  })

  await check('INFO-UNKNOWNSESSION-001', async () => {
    const { error } = await prompt(randomUUID(), [text('hello')])
    return error ? `${error.code}` : 'no error'
  })
  const usableAfter = async (line: string) => {
    const before = wire.messages.length
    wire.raw(line)
    await begin()
    return (
      wire.messages
        .slice(before)
        .find(({ id }) => id === null)
        ?.error?.code.toString() ?? 'silent'
    )
  }
  await check('INFO-PARSE-001', () => usableAfter('{"jsonrpc":'))
  await check('INFO-INVALIDREQ-001', () => usableAfter('{"foo":"bar"}'))

  const called = (prefix: string) => wire.messages.filter(({ method }) => method?.startsWith(prefix))
  await check('CLIENTCAP-001', () => must(called('fs/').length === 0, 'fs/*') as undefined)
  await check('CLIENTCAP-002', () => must(called('terminal/').length === 0, 'terminal/*') as undefined)
  await check('CLIENTCAP-003', () => must(called('elicitation/').length === 0, 'elicitation') as undefined)
  const responses = wire.messages.filter(({ method }) => method === undefined)
  await check('JSONRPC-002', () => {
    for (const one of responses) must('result' in one !== 'error' in one, JSON.stringify(one).slice(0, 200))
    for (const { error } of responses)
      if (error)
        must(Number.isInteger(error.code) && typeof error.message === 'string', JSON.stringify(error))
    return `${responses.length} responses`
  })
  await check('ERROR-001', () => {
    for (const { error } of responses) if (error) must(/^[^\r\n]+$/.test(error.message), error.message)
    return undefined
  })
  await check('STDERR-001', () => `${wire.stderrBytes} bytes`)
  await check('SHUTDOWN-001', async () => must(await wire.leave(10_000), 'it still runs') as undefined)
  for (const id of ['TRANSPORT-001', 'TRANSPORT-002', 'SCHEMA-001', 'SCHEMA-002'] as const)
    await check(
      id,
      () => must(wire.faults[id].length === 0, wire.faults[id].slice(0, 3).join('; ')) as undefined,
    )
}

function modesOf(begun: unknown): {
  readonly currentModeId: string
  readonly availableModes: readonly string[]
} {
  const modes = at(begun, 'modes')
  if (!modes) throw new Skip('there are no modes')
  const { currentModeId, availableModes } = fields(modes)
  return {
    currentModeId: String(currentModeId),
    availableModes: (availableModes as readonly Fields[]).map(({ id }) => String(id)),
  }
}

/** Resolves when the condition holds, or after 20 s: the agent may show nothing before it is cancelled. */
async function soon(isSo: () => boolean): Promise<void> {
  const until = performance.now() + 20_000
  while (!isSo() && performance.now() < until) await new Promise(resolve => setTimeout(resolve, 10))
}

/** The requirements that fail. */
export function failuresIn(verdicts: Verdicts): Readonly<Record<string, string>> {
  const failed = Object.entries(verdicts).filter(([, { verdict }]) => verdict === 'fail')
  return Object.fromEntries(failed.map(([id, { note }]) => [id, note]))
}
