import { describe, expect, it } from 'vitest'
import { callText, lineCounts, toldCall } from '../../../src/acp/memory/told-call.ts'
import type { ToolCallBlock, ToolResultBlock } from '../../../src/core/block.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'

const call = (name: string, input: Json, acp: JsonObject = {}): ToolCallBlock => ({
  type: 'tool_call',
  callId: 'c',
  name,
  input,
  metadata: { acp },
})
const result = (output: Json, acp: JsonObject = {}, isError = false): ToolResultBlock => ({
  type: 'tool_result',
  callId: 'c',
  output,
  ...(isError ? { isError } : {}),
  metadata: { acp },
})
const exited = (code: number) => ({ terminals: [{ id: 't', exit: { exit_code: code, signal: null } }] })
const execute = { kind: 'execute' }
const assertion = 'AssertionError: expected 3'

/** As the agents that we know send their calls: the line that another agent is told. */
const lines: readonly (readonly [
  name: string,
  call: ToolCallBlock,
  result: ToolResultBlock | null,
  line: string,
])[] = [
  [
    'a command with a terminal in _meta (claude)',
    call('Bash', { command: 'npm test', description: 'Run tests' }, { ...execute, title: '`npm test`' }),
    result(assertion, exited(1)),
    `ran npm test → exit 1: "${assertion}"`,
  ],
  [
    'a command in a shell (codex)',
    call(
      'shell',
      { command: ['/bin/bash', '-lc', 'npm test'], cwd: '/w' },
      { ...execute, title: 'npm test' },
    ),
    result({ exit_code: 0, aggregated_output: 'ok\n', stdout: 'ok' }),
    'ran npm test → exit 0: "ok"',
  ],
  [
    'a command without a name or input, whose kind was stored as its name (kimi)',
    call('execute', {}, { ...execute, title: '`ls -l`' }),
    result('a.ts\nb.ts', exited(0)),
    'ran ls -l → exit 0: "a.ts b.ts"',
  ],
  [
    'a command whose output says how it ended (copilot)',
    call('bash', { command: 'false' }, { ...execute, title: 'Try it' }),
    result('nothing\n<exited with exit code 1>'),
    'ran false → exit 1: "nothing <exited with exit code 1>"',
  ],
  [
    'a block of Markdown as the output',
    call('Bash', { command: 'ls' }, execute),
    result('```console\na.ts\n```'),
    'ran ls → "a.ts"',
  ],
  ['colours', call('Bash', { command: 'ls' }, execute), result('\u001b[31mred\u001b[0m'), 'ran ls → "red"'],
  ['no output', call('Bash', { command: 'true' }, execute), result('', exited(0)), 'ran true → exit 0'],
  ['no result', call('Bash', { command: 'sleep 9' }, execute), null, 'ran sleep 9 → no result'],
  [
    'a change with its diff',
    call('Edit', { file_path: '/w/src/a.ts' }, { kind: 'edit', title: 'Edit src/a.ts' }),
    result('The file was changed.', {
      content: [{ type: 'diff', path: '/w/src/a.ts', oldText: 'a\nb\nc\n', newText: 'a\nB\nB2\nB3\nc\n' }],
    }),
    'edited src/a.ts (+3 −1)',
  ],
  [
    'a new file',
    call('Write', {}, { kind: 'edit' }),
    result('', { content: [{ type: 'diff', path: '/w/b.ts', oldText: null, newText: 'one\ntwo\n' }] }),
    'wrote b.ts (+2)',
  ],
  [
    'a change without a diff',
    call('edit', {}, { kind: 'edit', locations: [{ path: '/w/c.ts' }] }),
    result('done'),
    'edited c.ts',
  ],
  [
    'a change that failed',
    call('Edit', { path: '/w/c.ts' }, { kind: 'edit' }),
    result('no match', {}, true),
    'edited c.ts → failed: "no match"',
  ],
  [
    'a read',
    call('Read', { file_path: '/w/spec.md' }, { kind: 'read' }),
    result('a long text'),
    'read spec.md',
  ],
  [
    'a tool of a server, by its name',
    call('mcp__db__query', { sql: 'select 1' }, { kind: 'other', title: 'mcp__db__query' }),
    result('1'),
    'used mcp__db__query: {"sql":"select 1"} → "1"',
  ],
  [
    'a tool of our own agent',
    call('read_file', { path: 'a.ts' }),
    result('text'),
    'used read_file: {"path":"a.ts"} → "text"',
  ],
  [
    'a tool without a name, by its title',
    call('fetch', {}, { kind: 'fetch', title: 'Fetch example.org' }),
    result('ok'),
    'used Fetch example.org → "ok"',
  ],
]

describe('the line of a tool call', () => {
  it.each(lines)('%s', (_, made, ended, line) => {
    expect(callText(toldCall(made, ended, '/w'), 400)).toBe(line)
  })

  it('has the reason of a failure and the end of a long output', () => {
    const output = `${'> test\n'.repeat(200)}TypeError: x is not a function\n${'    at run (a.js)\n'.repeat(200)}2 failed`
    const told = toldCall(call('Bash', { command: 'npm test' }, execute), result(output, exited(1)), '')
    expect(callText(told, 200)).toMatch(
      /^ran npm test → exit 1: "TypeError: x is not a function … .*2 failed"$/,
    )
    expect(callText(told, 200).length).toBeLessThan(250)
    expect(callText(told, 0)).toBe('ran npm test → exit 1')
  })

  it('is one line, and has the output in its own lines only if much of it is told', () => {
    const output = Array.from({ length: 100 }, (_, i) => `line ${i}`).join('\n')
    const told = toldCall(call('Bash', { command: 'cat <<X\na\nX' }, execute), result(output, exited(0)), '')
    expect(callText(told, 400)).not.toContain('\n')
    expect(callText(told, 2_000)).toBe(`ran cat <<X a X → exit 0: \n${output}`)
  })
})

it.each([
  ['', 'a\nb\n', 2, 0],
  ['a\nb\n', '', 0, 2],
  ['a\nb\nc', 'a\nc', 0, 1],
  ['a\nb\nc', 'a\nx\nb\ny\nc', 2, 0],
  ['same', 'same', 0, 0],
])('counts the changed lines of %j and %j', (before, after, added, removed) => {
  expect(lineCounts(before, after)).toEqual({ added, removed })
})
