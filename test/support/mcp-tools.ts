import { appendFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { type CallToolResult, Server, type ServerContext, type Tool } from '@modelcontextprotocol/server'

type Run = (
  input: Record<string, unknown>,
  context: ServerContext,
) => Promise<CallToolResult> | CallToolResult
type Described = Partial<Omit<Tool, 'name'>> & { readonly run: Run }

const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })
const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } as const

/** The tools of a test server: one for every way in which a tool can behave. */
const tools: Readonly<Record<string, Described>> = {
  echo: {
    description: 'Says it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
    run: ({ text }) => say(String(text)),
  },
  two: {
    annotations: { idempotentHint: true },
    run: () => ({
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    }),
  },
  point: {
    outputSchema: point,
    run: () => ({ content: [{ type: 'text', text: '{ "x": 1 }' }], structuredContent: { x: 1 } }),
  },
  // Announces structured content and sends none.
  shapeless: { outputSchema: point, run: () => say('no shape') },
  explained: {
    run: () => ({ content: [{ type: 'text', text: 'near the door' }], structuredContent: { x: 1 } }),
  },
  picture: {
    run: () => ({
      content: [
        { type: 'text', text: 'a dot' },
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
      ],
    }),
  },
  papers: {
    run: () => ({
      content: [
        { type: 'resource', resource: { uri: 'file:///a.txt', text: 'words' } },
        {
          type: 'resource',
          resource: { uri: 'file:///b.pdf', mimeType: 'application/pdf', blob: 'JVBERi0=' },
        },
        { type: 'resource_link', name: 'c', uri: 'file:///c.txt' },
      ],
      structuredContent: { pages: 3 },
    }),
  },
  fail: { run: () => ({ ...say('the disk is full'), isError: true }) },
  refuse: {
    run: () => {
      throw new Error('not today')
    },
  },
  'odd.name/x': { run: () => say('odd') },
  place: {
    run: () =>
      say(JSON.stringify({ cwd: process.cwd(), given: process.env.GIVEN, secret: process.env.SECRET })),
  },
  pid: { run: () => say(String(process.pid)) },
  die: {
    run: ({ words = '' }) => {
      process.stderr.write(`out of cheese ${words}\n`)
      process.exit(3)
    },
  },
  // Writes to a file when it begins and when it is cancelled.
  wait: {
    async run({ log }, { mcpReq }) {
      appendFileSync(String(log), 'begun\n')
      await after(60_000, undefined, { signal: mcpReq.signal }).catch(() => {
        appendFileSync(String(log), 'cancelled\n')
      })
      return say('waited')
    },
  },
  never: { run: () => new Promise(() => setInterval(() => {}, 60_000)) },
  large: { run: ({ length }) => say('é'.repeat(Number(length))) },
}

/** Lists three tools per page, so that the first page is not the whole list. */
export function toolServer(): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  const listed = Object.entries(tools).map(([name, { run: _, ...tool }]) => ({
    name,
    ...tool,
    inputSchema: tool.inputSchema ?? ({ type: 'object' } as const),
  }))
  server.setRequestHandler('tools/list', ({ params }) => {
    const from = Number(params?.cursor ?? 0)
    const next = from + 3 < listed.length ? { nextCursor: String(from + 3) } : {}
    return { tools: listed.slice(from, from + 3) as Tool[], ...next }
  })
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const found = tools[params.name]
    if (!found) throw new Error(`no tool ${params.name}`)
    return found.run(params.arguments ?? {}, context)
  })
  return server
}
