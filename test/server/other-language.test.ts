import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startService } from './harness.ts'
import { operations } from './operations.ts'

const python = ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'].find(existsSync)

it.skipIf(python === undefined)(
  'serves a Python program that knows only the OpenAPI document',
  { timeout: 60_000 },
  async () => {
    await using service = await startService({ script: ['Hello from the model.', 'And again.'] })
    const program = join(import.meta.dirname, 'other_language.py')
    const env = { PATH: '/usr/bin:/bin', PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout } = await promisify(execFile)(python!, [program, service.url, service.token], { env })
    expect(stdout).toBe(`ok ${Object.keys(operations).length + 1}\n`)
  },
)
