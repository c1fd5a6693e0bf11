import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { inspectConfig } from '../src/config/read-config.ts'
import { tokenScopes } from '../src/core/access-token.ts'
import { defaultServiceLimits } from '../src/server/http/service-options.ts'
import { createService } from '../src/server/index.ts'

const page = readFileSync(join(import.meta.dirname, '../docs/service.md'), 'utf8')

/** The code blocks in this language. */
function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text!)
}

const unused = () => Promise.reject(new Error('no request is made'))

describe('docs/service.md', () => {
  it('names every metric of the service, and no other', () => {
    const metrics = new Registry()
    createService({ storeOf: unused, tokens: { findToken: unused }, metrics })
    const registered = metrics.getMetricsAsArray().map(({ name }) => name)
    const named = [...page.matchAll(/`(skein_[a-z_]+)`/g)].map(([, name]) => name!)
    expect(named.toSorted()).toEqual(registered.toSorted())
  })

  it('names every scope, and the limits that the service has', () => {
    for (const scope of tokenScopes) expect(page).toContain(`| \`${scope}\` |`)
    expect(defaultServiceLimits).toMatchObject({ wrongTokens: 20, tokenCacheMs: 2_000, closeMs: 30_000 })
    expect(page).toMatch(/20 wrong tokens a minute.*within two seconds.*30 seconds to finish/s)
    const [, seconds] = /TimeoutStopSec=(\d+)/.exec(page)!
    expect(Number(seconds) * 1_000).toBeGreaterThan(defaultServiceLimits.closeMs + 5_000)
  })

  it('has settings that skein.yaml accepts', async () => {
    const place = mkdtempSync(join(tmpdir(), 'skein-service-page-'))
    const [settings] = blocks('yaml')
    expect(settings).toContain('public_url')
    writeFileSync(join(place, 'skein.yaml'), settings!)
    const { problems, config } = await inspectConfig(place, { HOME: place })
    rmSync(place, { recursive: true })
    expect(problems).toEqual([])
    expect(config.server).toMatchObject({ publicUrl: 'https://skein.example.org', listen: { port: 4717 } })
  })

  // Tools of the machine. CI on Debian has the first one.
  const analyze = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find(existsSync)
  it.skipIf(analyze === undefined)('has a unit that systemd accepts', async () => {
    const place = mkdtempSync(join(tmpdir(), 'skein-unit-'))
    const file = join(place, 'skein.service')
    const unit = blocks('ini')[0]!
      .replace('/usr/bin/skein serve', '/bin/true serve')
      .replace('User=skein\n', '')
    writeFileSync(file, unit)
    const { stderr } = await promisify(execFile)(analyze!, ['verify', '--man=no', file])
    // It also reports on other units of the machine.
    expect(stderr.split('\n').filter(line => line.includes('skein'))).toEqual([])
    writeFileSync(file, unit.replace('ProtectSystem=', 'ProtectSystme='))
    const wrong = await promisify(execFile)(analyze!, ['verify', '--man=no', file]).catch(error => error)
    expect(wrong.stderr).toContain('ProtectSystme')
    rmSync(place, { recursive: true })
  })

  const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(existsSync)
  it.skipIf(nginx === undefined)('has a snippet that nginx accepts', async () => {
    const place = mkdtempSync(join(tmpdir(), 'skein-nginx-'))
    const server = blocks('nginx')[0]!
      .replace('443 ssl', '18443')
      .replace(/^ *ssl_.*\n/gm, '')
    const file = join(place, 'nginx.conf')
    writeFileSync(file, `pid ${place}/pid;\nerror_log ${place}/log;\nevents {}\nhttp {\n${server}}\n`)
    const { stderr } = await promisify(execFile)(nginx!, ['-t', '-p', place, '-c', file])
    expect(stderr).toContain('test is successful')
    rmSync(place, { recursive: true })
  })
})
