import { randomUUID } from 'node:crypto'
import type { SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import type { Playing } from './play.ts'
import type { CommandStep } from './step.ts'

type Send = (update: SessionUpdate) => Promise<void>

/** Runs a command as real agents do, and shows its output in a terminal. Returns the updates that a load
 *  replays. */
export async function runCommand(
  step: CommandStep,
  playing: Playing,
  send: Send,
): Promise<readonly SessionUpdate[]> {
  return step.through === 'terminal/create' ? inClient(step, playing, send) : inMeta(step, send)
}

/** The agent runs the command itself, and sends its output in `_meta` (Claude, Codex, pi). */
async function inMeta(step: CommandStep, send: Send): Promise<readonly SessionUpdate[]> {
  const id = step.callId ?? `call-${randomUUID()}`
  const update = { sessionUpdate: 'tool_call_update', toolCallId: id } as const
  const updates: SessionUpdate[] = [
    {
      ...callOf(step, id),
      content: [{ type: 'terminal', terminalId: id }],
      _meta: { terminal_info: { terminal_id: id, cwd: '/work' }, stub: { toolName: 'Bash' } },
    },
    ...step.output.map(data => ({ ...update, _meta: { [step.through]: { terminal_id: id, data } } })),
    {
      ...update,
      ...endOf(step),
      _meta: { terminal_exit: { terminal_id: id, exit_code: step.exitCode, signal: null } },
    },
  ]
  for (const one of updates) await send(one)
  return updates
}

/** The client runs the command in a terminal of its own (goose, kimi). */
async function inClient(
  step: CommandStep,
  { client, sessionId }: Playing,
  send: Send,
): Promise<readonly SessionUpdate[]> {
  const id = step.callId ?? `call-${randomUUID()}`
  await send(callOf(step, id))
  const { terminalId } = await client.request('terminal/create', {
    sessionId,
    command: 'sh',
    args: ['-c', step.command],
  })
  const content = [{ type: 'terminal', terminalId } as const]
  const update = { sessionUpdate: 'tool_call_update', toolCallId: id } as const
  await send({ ...update, content })
  await client.request('terminal/wait_for_exit', { sessionId, terminalId })
  await client.request('terminal/output', { sessionId, terminalId })
  await client.request('terminal/release', { sessionId, terminalId })
  await send({ ...update, ...endOf(step) })
  return [{ ...callOf(step, id), content, ...endOf(step) }]
}

function callOf({ command }: CommandStep, toolCallId: string) {
  const rawInput = { command }
  return {
    sessionUpdate: 'tool_call',
    toolCallId,
    name: 'Bash',
    title: `\`${command}\``,
    kind: 'execute',
    status: 'in_progress',
    rawInput,
  } as const
}

function endOf({ exitCode, rawOutput }: CommandStep) {
  const status = exitCode === 0 ? ('completed' as const) : ('failed' as const)
  return { status, ...(rawOutput === undefined ? {} : { rawOutput }) }
}
