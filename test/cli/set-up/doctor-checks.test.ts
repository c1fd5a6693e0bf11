import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fileSystemOf, isNetworkFileSystem } from '../../../src/system/file-system.ts'
import { serveMcp } from '../../support/mcp-http.ts'
import { ownFile } from '../settings/own-file.ts'
import { home } from '../skein.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')

describe('skein doctor checks what it shows', () => {
  it('a model that does not exist, an MCP server that does not start, an agent that is not installed', async () => {
    using here = home()
    await using remote = await serveMcp()
    const command = process.execPath
    ownFile(here, {
      model: 'nope',
      models: { fast: 'opnai/x' },
      mcp: {
        good: { command, args: [server] },
        bad: { command, args: [server, 'broken'], env: { KEY: 'sk-secret' } },
        web: { url: remote.url },
      },
      agents: { gone: { command: 'no-such-agent' }, mine: { model: 'scripted' } },
    })
    const offline = await here.skein(['doctor'])
    expect(offline.code).toBe(1)
    for (const line of [
      '✗ model    model: no model nope.',
      '✗ model    models.fast: no model opnai/x: there is no provider opnai. Did you mean openai/x?',
      '✓ mcp      mcp.good starts and has ',
      '✗ mcp      the MCP server "bad" ',
      '✓ mcp      mcp.web is set. To try it: skein doctor --online',
      '✗ agents   agents.gone: there is no no-such-agent in PATH',
      '✓ agents   agents.mine is set',
    ])
      expect(offline.stdout).toContain(line)
    expect(offline.stdout).not.toContain('sk-secret')
    expect(remote.headers).toEqual([])
    expect((await here.skein(['doctor', '--online'])).stdout).toContain('✓ mcp      mcp.web starts and has ')
  })

  it('a key that is refused and a model that the provider does not have, only with --online', async () => {
    using here = home()
    let asked = 0
    const provider = createServer((request, response) => {
      asked++
      const { url = '', headers } = request
      const key = headers['x-api-key'] ?? headers.authorization
      response.statusCode =
        key !== 'good' && key !== 'Bearer good' ? 401 : /claude-sonnet-5-5$|\/models$/.test(url) ? 200 : 404
      response.end(JSON.stringify({ data: [{ id: 'listed' }] }))
    })
    await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
    const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    ownFile(here, {
      models: { a: 'compatible/listed', b: 'compatible/missing' },
      providers: { anthropic: { base_url }, compatible: { key: 'good', base_url } },
    })
    const run = async (key: string, ...args: string[]) =>
      (await here.skein(['doctor', ...args], { env: { ANTHROPIC_API_KEY: key } })).stdout
    await run('bad')
    expect(asked).toBe(0)
    const refused = await run('bad', '--online')
    expect(refused).toContain('✗ keys     anthropic refuses ANTHROPIC_API_KEY (401).')
    expect(refused).toContain('✓ model    compatible accepts the key and has listed')
    expect(refused).toContain('✗ model    compatible does not have missing')
    expect(await run('good', '--online')).toContain('✓ model    anthropic accepts the key and has sonnet-5.5')
    provider.close()
    provider.closeAllConnections()
    expect(await run('good', '--online')).toContain(
      '! model    anthropic could not be asked for sonnet-5.5: ECONNREFUSED',
    )
  })

  it('a store on a network file system, by the mount above it', () => {
    const mounts = [
      '22 1 0:21 / / rw,relatime - ext4 /dev/sda1 rw',
      '23 22 0:22 / /home rw shared:1 - nfs4 server:/home rw',
      '24 23 0:23 / /home/ada/local\\040disk rw - xfs /dev/sdb1 rw',
      '25 22 0:24 / /mnt rw - fuse.sshfs ada@host: rw',
    ].join('\n')
    const found = ['/home/ada', '/home/ada/local disk/x', '/homes', '/mnt/a', '/'].map(path =>
      fileSystemOf(path, mounts),
    )
    expect(found).toEqual(['nfs4', 'xfs', 'ext4', 'fuse.sshfs', 'ext4'])
    expect(found.map(type => isNetworkFileSystem(type!))).toEqual([true, false, false, true, false])
    for (const type of ['cifs', 'smb3', '9p', 'ceph', 'fuse.rclone'])
      expect(isNetworkFileSystem(type)).toBe(true)
    for (const type of ['btrfs', 'overlay', 'tmpfs', 'fuse.fuse-overlayfs', 'zfs'])
      expect(isNetworkFileSystem(type)).toBe(false)
  })
})
