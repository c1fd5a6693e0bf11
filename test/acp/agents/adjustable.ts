import { randomUUID } from 'node:crypto'
import { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import * as acp from '@agentclientprotocol/sdk/unstable'

/** An agent with settings and slash commands that does what its prompt says, without a model: `write <path>
 *  <text>`, `run <command>`, `form`, `mode <id>`, `prompts` (all prompts so far). It forgets
 *  everything with its process. `--older` has the lists of modes and models of older agents instead of
 *  options. `--fixed` has no settings. */
const { values: flags } = parseArgs({
  options: {
    older: { type: 'boolean', default: false },
    fixed: { type: 'boolean', default: false },
    without: { type: 'string', default: '' },
  },
})

interface Session {
  readonly id: string
  readonly directories: readonly string[]
  mode: string
  model: string
  thinks: boolean
}

const modes = ['ask', 'code', 'plan']
const models = ['small', 'large'].filter(model => model !== flags.without)
const sessions = new Map<string, Session>()
const app = acp.agent({ name: 'adjustable' })

function settingsOf({ mode, model, thinks }: Session) {
  if (flags.fixed) return {}
  if (flags.older)
    return {
      modes: { currentModeId: mode, availableModes: modes.map(id => ({ id, name: id.toUpperCase() })) },
      models: { currentModelId: model, availableModels: models.map(modelId => ({ modelId, name: modelId })) },
    }
  const select = { type: 'select' } as const
  const optionsOf = (list: readonly string[]) =>
    list.map(value => ({ value, name: value.toUpperCase(), description: `works as ${value}` }))
  const configOptions: acp.SessionConfigOption[] = [
    { ...select, id: 'mode', name: 'Mode', category: 'mode', currentValue: mode, options: optionsOf(modes) },
    {
      ...select,
      id: 'llm',
      name: 'Model',
      category: 'model',
      currentValue: model,
      options: optionsOf(models),
    },
    { type: 'boolean', id: 'thinks', name: 'Thinking', currentValue: thinks },
  ]
  return { configOptions }
}

function sessionOf(id: string): Session {
  const found = sessions.get(id)
  if (!found) throw new acp.RequestError(-32_002, `no session ${id}`)
  return found
}

app.onRequest('initialize', ({ params }) => ({
  protocolVersion: 1,
  agentInfo: { name: 'adjustable', version: '1.0.0' },
  agentCapabilities: { sessionCapabilities: { additionalDirectories: {} } },
  _meta: { client: params.clientCapabilities ?? {} },
}))
app.onRequest('session/new', async ({ params, client }) => {
  const id = randomUUID()
  const session: Session = {
    id,
    directories: params.additionalDirectories ?? [],
    mode: 'ask',
    model: models[0]!,
    thinks: false,
  }
  sessions.set(id, session)
  setImmediate(() => {
    void client.notify('session/update', {
      sessionId: id,
      update: {
        sessionUpdate: 'available_commands_update',
        availableCommands: [
          { name: 'init', description: 'Write a file about the project', input: { hint: 'what to mind' } },
          { name: 'compact', description: 'Make the context shorter' },
          { name: 'new', description: 'Collides with a command of the chat' },
        ],
      },
    })
  })
  return { sessionId: id, ...settingsOf(session) }
})
app.onRequest('session/set_mode', ({ params }) => {
  if (!modes.includes(params.modeId)) throw new acp.RequestError(-32_602, 'no such mode')
  sessionOf(params.sessionId).mode = params.modeId
})
app.onRequest(
  'session/set_model',
  (params: unknown) => params as { sessionId: string; modelId: string },
  ({ params }) => {
    sessionOf(params.sessionId).model = params.modelId
    return {}
  },
)
app.onRequest('session/set_config_option', ({ params }) => {
  const session = sessionOf(params.sessionId)
  if (params.configId === 'mode') session.mode = String(params.value)
  if (params.configId === 'llm') session.model = String(params.value)
  if (params.configId === 'thinks') session.thinks = params.value === true
  return { configOptions: settingsOf(session).configOptions ?? [] }
})

/** The texts of all prompts. */
const prompts: (readonly string[])[] = []

type Client = Pick<acp.AgentContext, 'notify' | 'request'>

app.onRequest('session/prompt', async ({ params, client }) => {
  const session = sessionOf(params.sessionId)
  const last = params.prompt.at(-1)
  const words = last?.type === 'text' ? last.text : ''
  prompts.push(params.prompt.map(block => (block.type === 'text' ? block.text : '')))
  const text = await answerTo(words, session, client).catch((error: unknown) => {
    const { code, message } = error as { readonly code?: number; readonly message: string }
    return `refused: ${code} ${message}`
  })
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } as const
  await client.notify('session/update', { sessionId: session.id, update })
  return { stopReason: 'end_turn' }
})

async function answerTo(words: string, session: Session, client: Client): Promise<string> {
  const { id: sessionId } = session
  const [verb = '', path = '', ...rest] = words.split(' ')
  const content = rest.join(' ')
  const send = (update: acp.SessionUpdate) => client.notify('session/update', { sessionId, update })
  switch (verb) {
    case 'prompts':
      return JSON.stringify(prompts)
    case 'settings': {
      const { mode, model, thinks, directories } = session
      return JSON.stringify({ mode, model, thinks, directories })
    }
    case 'read': {
      const read = await client.request('fs/read_text_file', { sessionId, path, line: 1, limit: 2 })
      return `read: ${read.content}`
    }
    case 'write':
      await client.request('fs/write_text_file', { sessionId, path, content })
      return 'written'
    case 'edit': {
      const toolCall = { toolCallId: randomUUID(), title: `Edit ${path}`, locations: [{ path }] }
      const diff = { type: 'diff', path, oldText: null, newText: content } as const
      const { outcome } = await client.request<acp.RequestPermissionResponse>('session/request_permission', {
        sessionId,
        toolCall: { ...toolCall, content: [diff] },
        options: [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      })
      if (outcome.outcome !== 'selected' || outcome.optionId !== 'yes') return 'not edited'
      await client.request('fs/write_text_file', { sessionId, path, content })
      return 'edited'
    }
    case 'run':
      return run(words.slice(4), sessionId, client)
    case 'mode':
      session.mode = path
      await send(
        flags.older
          ? { sessionUpdate: 'current_mode_update', currentModeId: path }
          : { sessionUpdate: 'config_option_update', configOptions: settingsOf(session).configOptions ?? [] },
      )
      return `now ${path}`
    case 'plan':
      await send({
        sessionUpdate: 'plan',
        entries: ['look at the code', 'change it', 'run the tests'].map((step, i) => ({
          content: step,
          priority: 'medium',
          status: i === 0 ? 'completed' : i === 1 ? 'in_progress' : 'pending',
        })),
      })
      return 'planned'
    case 'form':
      return JSON.stringify(await client.request('elicitation/create', formOf(sessionId)))
    case 'page':
      return JSON.stringify(
        await client.request('elicitation/create', {
          sessionId,
          mode: 'url',
          message: 'Sign in on this page',
          elicitationId: 'e1',
          url: 'https://example.com/sign-in',
        }),
      )
    case 'die':
      process.exit(1)
      break
    default:
      return `heard: ${words}`
  }
  return ''
}

function formOf(sessionId: string): acp.CreateElicitationRequest {
  return {
    sessionId,
    mode: 'form',
    message: 'How should the service be deployed?',
    requestedSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', title: 'Name', minLength: 2 },
        port: { type: 'integer', title: 'Port', minimum: 1, maximum: 65_535, default: 8080 },
        region: { type: 'string', title: 'Region', enum: ['eu', 'us'] },
        tls: { type: 'boolean', title: 'TLS', default: true },
        note: { type: 'string', title: 'Note', description: 'anything else' },
      },
      required: ['name', 'port', 'region'],
    },
  }
}

async function run(command: string, sessionId: string, client: Client): Promise<string> {
  const send = (update: acp.SessionUpdate) => client.notify('session/update', { sessionId, update })
  const toolCallId = randomUUID()
  await send({
    sessionUpdate: 'tool_call',
    toolCallId,
    title: command,
    kind: 'execute',
    status: 'in_progress',
  })
  const { terminalId } = await client.request('terminal/create', {
    sessionId,
    command,
    env: [{ name: 'GREETING', value: 'hello' }],
  })
  const terminal = { sessionId, terminalId }
  const content = [{ type: 'terminal', terminalId } as const]
  await send({ sessionUpdate: 'tool_call_update', toolCallId, content })
  if (command.startsWith('sleep')) await client.request('terminal/kill', terminal)
  const { exitCode, signal } = await client.request<acp.WaitForTerminalExitResponse>(
    'terminal/wait_for_exit',
    terminal,
  )
  const { output, truncated } = await client.request<acp.TerminalOutputResponse>('terminal/output', terminal)
  await client.request('terminal/release', terminal)
  await send({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
  return `exit ${exitCode ?? signal}, ${output.length} characters${truncated ? ', cut' : ''}`
}

const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), input))
connection.closed.finally(() => process.exit()).catch(() => undefined)
