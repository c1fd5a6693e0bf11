import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMcpEndpoint } from '../../src/mcp/endpoint.ts'
import { startService } from '../server/harness.ts'
import { isFull } from './size.ts'

const wanted = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const place = join(import.meta.dirname, '../../node_modules/.cache/mcp-conformance')

/** The scenarios for a server that has tools, and neither prompts nor resources nor tools of the suite. */
const scenarios = [
  ['server-initialize', '2025-11-25'],
  ['ping', '2025-11-25'],
  ['tools-list', '2025-11-25'],
  ['dns-rebinding-protection', '2025-11-25'],
  ['server-stateless', '2026-07-28'],
  ['tools-list', '2026-07-28'],
  ['http-header-validation', '2026-07-28'],
  ['dns-rebinding-protection', '2026-07-28'],
] as const

/** Checks of these scenarios that call tools which only the suite's own example server has. */
const needOwnTools = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]

function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
    child.on('error', reject)
    child.on('close', () => resolve(printed))
  })
}

/** Adds the token to every request: the suite cannot send one. Everything else is passed on as it is. */
async function withToken(port: number, token: string) {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const { method, url: path } = incoming
    const onward = send({ host: '127.0.0.1', port, method, path, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.dispose]: () => void server.close(),
  }
}

// The suite comes from the registry, which the gate must not need.
describe.runIf(isFull)('the conformance suite of the Model Context Protocol', () => {
  it('finds no fault in the address /mcp of a service', { timeout: 600_000 }, async () => {
    const suite = join(place, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
    if (!existsSync(suite)) {
      mkdirSync(place, { recursive: true })
      writeFileSync(join(place, 'package.json'), '{ "private": true }')
      await run('npm', ['install', '--no-audit', '--no-fund', wanted], place)
    }
    const endpoint = createMcpEndpoint({ store: async () => service.store, notes: { key: 'notes' } })
    await using service = await startService({
      mcp: (request, { scopes }) => endpoint.fetch(request, { scopes }),
    })
    using proxy = await withToken(service.port, service.token)
    for (const [scenario, version] of scenarios) {
      const args = ['server', '--url', proxy.url, '--scenario', scenario, '--spec-version', version]
      const printed = await run(process.execPath, [suite, ...args], place)
      const failed = printed.split('\n').flatMap(line => /\[([\w-]+) *\].*FAILURE/.exec(line)?.[1] ?? [])
      expect(printed, `${scenario} ${version}`).toMatch(/Passed: [1-9]/)
      expect(
        failed.filter(id => !needOwnTools.includes(id)),
        `${scenario} ${version}`,
      ).toEqual([])
    }
    await endpoint.close()
  })
})
