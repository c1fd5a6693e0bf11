import { describe, expect, it } from 'vitest'
import { toolLine } from '../../../src/cli/output/tool-line.ts'
import { memoryOutput } from '../memory-output.ts'

describe('the line of a tool call', () => {
  it('shows name, argument, outcome and duration, and fits the width', () => {
    const read = {
      call: { name: 'read', input: { path: 'gateway/tls.ts' } },
      result: { output: 'a\nb\nc' },
      tookMs: 4,
    }
    expect(toolLine(read, memoryOutput())).toBe('  read  gateway/tls.ts · 3 lines · 4 ms')
    const failed = {
      call: { name: 'bash', input: { command: 'npm test' } },
      result: { output: 'boo\nexit 1', isError: true },
      tookMs: 3200,
    }
    expect(toolLine(failed, memoryOutput())).toBe('✗ bash  npm test · boo · 3.2 s')
    const hostile = { ...read, call: { name: 'read', input: { path: '\x1b[2J'.repeat(100) } } }
    expect(toolLine(hostile, memoryOutput(60)).length).toBeLessThanOrEqual(60)
    expect(toolLine(hostile, memoryOutput(60))).not.toContain('\x1b')
    const bare = { call: { name: 'read', input: {} }, result: { output: '' }, tookMs: 4 }
    expect(toolLine(bare, memoryOutput())).toBe('  read · 4 ms')
    expect(toolLine({ ...read, result: null, tookMs: null }, memoryOutput())).toBe(
      '  read  gateway/tls.ts · no result',
    )
  })
})
