import { randomUUID } from 'node:crypto'
import { isAbsolute } from 'node:path'
import {
  type ApprovalDetails,
  type ApprovalMemory,
  type Approve,
  approvalMemory,
} from '../../agent/approval/approval.ts'
import { createApprovals, permissionEvent } from '../../agent/approval/approvals.ts'
import { checkedPaths } from '../../agent/coding/checked-paths.ts'
import { localWorkspace } from '../../agent/coding/local-workspace.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import { type ApprovalRequest, answerNames } from '../../core/approval.ts'
import { errorText } from '../../core/error-text.ts'
import type { NewEvent } from '../../core/event.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { unlessAborted } from '../../core/wait.ts'
import type { TerminalChange } from '../transcript/terminal.ts'
import { internalError, invalidParams, noSuchSession, RpcError } from '../wire/rpc-error.ts'
import { commandLine, createTerminalHandle, readTerminal, type TerminalHandle } from './terminal-handle.ts'

/** What a host does for its agent: reads and writes files, runs commands. */
export type HostService = 'files' | 'terminals'

export interface OfferedWorkOptions {
  readonly offers: readonly HostService[]
  readonly directories: readonly [string, ...string[]]
  readonly approve?: Approve
  readonly approvals?: ApprovalMemory
}

/** The turn that a request of the agent belongs to. */
export interface WorkContext {
  readonly conversationId: ConversationId | null
  readonly signal: AbortSignal
  /** Paths and commands that the person has allowed in this turn, in a question of the agent. */
  readonly granted: ReadonlySet<string>
  emit(event: AgentEvent): void
  trace(event: NewEvent): void
  /** News of a terminal, to be stored with the call that shows it. */
  hear(change: TerminalChange): void
}

/** Files and terminals for an agent. Every change and every command is asked for; so is a read outside the
 *  project, and of a file that may contain secrets. */
export interface OfferedWork {
  /** The capabilities of a client, for `initialize`. */
  readonly capabilities: JsonObject
  /** The work of a method; null if it is not offered. */
  of(method: string): ((params: JsonObject, context: WorkContext) => Promise<JsonObject>) | null
  /** Ends all commands. */
  end(): Promise<void>
}

export function createOfferedWork({ offers, directories, ...options }: OfferedWorkOptions): OfferedWork {
  const workspace = localWorkspace(directories)
  const paths = checkedPaths(workspace)
  const approvals = createApprovals(options.approve, options.approvals ?? approvalMemory(), null)
  const terminals = new Map<string, TerminalHandle>()
  const [offersFiles, offersTerminals] = [offers.includes('files'), offers.includes('terminals')]

  async function mayDo(
    call: Pick<ApprovalRequest, 'callId' | 'name' | 'input' | 'kind'>,
    details: ApprovalDetails & { readonly title: string },
    { conversationId, signal, emit, trace }: WorkContext,
  ): Promise<void> {
    const { title, preview = null, reason = null, scope = call.name } = details
    const about = { title, preview, reason, scope, conversationId, messageId: null, turn: '' }
    const request: ApprovalRequest = { ...call, ...about }
    const { answer, wasAsked, refusal } = await approvals.decide(request, signal, {
      onAsk: () => emit({ type: 'asking', title, request }),
      keep: () => Promise.resolve(),
      // The agent waits for the answer to its request.
      canWait: false,
    })
    const given = answer ?? 'deny'
    const callId = wasAsked ? call.callId : null
    emit({ type: 'asked', title, callId, choice: answerNames[given], isAllowed: given !== 'deny' })
    if (wasAsked) trace(permissionEvent(request, given))
    if (refusal !== null) throw new RpcError({ code: internalError, message: refusal })
  }

  async function read({ path, line, limit }: JsonObject, context: WorkContext): Promise<JsonObject> {
    const callId = randomUUID()
    const written = pathIn(path)
    const { shown, reason, path: file } = await paths.look(callId, written)
    if (reason !== null)
      await mayDo(
        { callId, name: 'read_file', input: { path: written }, kind: 'read' },
        { title: `read ${shown}`, reason, scope: `read ${file}` },
        context,
      )
    const place = await paths.use(callId, written)
    const content = await workspace.readText(place.path, context.signal).catch(noFile)
    return { content: linesOf(content, line, limit) }
  }

  async function write({ path, content }: JsonObject, context: WorkContext): Promise<JsonObject> {
    const callId = randomUUID()
    const written = pathIn(path)
    if (typeof content !== 'string') throw wrongParams('content must be a text')
    const { shown, reason, path: file } = await paths.look(callId, written)
    const { signal, granted } = context
    // Missing, or not a text: it is replaced as a whole.
    const oldText = await workspace.readText(file, signal).catch(() => null)
    if (!granted.has(file) && !granted.has(written))
      await mayDo(
        { callId, name: 'write_file', input: { path: written }, kind: 'edit' },
        {
          title: `write ${shown}${oldText === null ? ' (new file)' : ''}`,
          preview: { type: 'diff', path: file, oldText, newText: content },
          reason,
          scope: reason === null ? 'edits of the project' : `edits of ${file}`,
        },
        context,
      )
    const place = await paths.use(callId, written)
    await workspace.writeText(place.path, content, signal)
    return {}
  }

  async function create(params: JsonObject, context: WorkContext): Promise<JsonObject> {
    const callId = randomUUID()
    const wanted = readTerminal(params, directories[0])
    if (!wanted) throw wrongParams('a terminal needs a command, and a cwd that is an absolute path')
    const line = commandLine(wanted)
    const { path: directory, shown, reason } = await paths.look(callId, wanted.directory)
    const title = `run ${line}${shown === '.' ? '' : ` (in ${shown})`}`
    const { granted } = context
    if (reason !== null || (!granted.has(line) && !granted.has(wanted.command)))
      await mayDo(
        { callId, name: 'run_command', input: { command: line }, kind: 'execute' },
        { title, preview: { type: 'command', command: line, directory }, reason, scope: title },
        context,
      )
    const { path: approved } = await paths.use(callId, wanted.directory)
    const terminalId = `skein-${randomUUID()}`
    const hear = (change: Omit<TerminalChange, 'terminalId'>) => context.hear({ terminalId, ...change })
    terminals.set(terminalId, await createTerminalHandle({ ...wanted, directory: approved }, hear))
    return { terminalId }
  }

  function terminalIn({ terminalId }: JsonObject): TerminalHandle {
    const found = terminals.get(String(terminalId))
    if (!found)
      throw new RpcError({ code: noSuchSession, message: `there is no terminal ${String(terminalId)}` })
    return found
  }

  type Work = (params: JsonObject, context: WorkContext) => Promise<JsonObject>
  const fileMethods: Readonly<Record<string, Work>> = {
    'fs/read_text_file': read,
    'fs/write_text_file': write,
  }
  const terminalMethods: Readonly<Record<string, Work>> = {
    'terminal/create': create,
    'terminal/output': async params => terminalIn(params).output(),
    'terminal/wait_for_exit': async (params, { signal }) => unlessAborted(terminalIn(params).ended, signal),
    'terminal/kill': async params => {
      await terminalIn(params).end()
      return {}
    },
    'terminal/release': async params => {
      await terminalIn(params).end()
      terminals.delete(String(params.terminalId))
      return {}
    },
  }
  const methods = { ...(offersFiles && fileMethods), ...(offersTerminals && terminalMethods) }

  return {
    capabilities: {
      fs: { readTextFile: offersFiles, writeTextFile: offersFiles },
      terminal: offersTerminals,
    },
    of: method => (Object.hasOwn(methods, method) ? methods[method]! : null),
    async end() {
      const all = [...terminals.values()]
      terminals.clear()
      await Promise.allSettled(all.map(terminal => terminal.end()))
    },
  }
}

function pathIn(path: unknown): string {
  if (typeof path !== 'string' || !isAbsolute(path)) throw wrongParams('path must be an absolute path')
  return path
}

function wrongParams(message: string): RpcError {
  return new RpcError({ code: invalidParams, message })
}

/** Agents recognise a missing file by this code. */
function noFile(error: unknown): never {
  const message = errorText(error)
  throw new RpcError({
    code: message.startsWith('there is no file') ? noSuchSession : internalError,
    message,
  })
}

/** A part of a text, by its lines. Empty if it is after the end. */
function linesOf(text: string, line: unknown, limit: unknown): string {
  const first = typeof line === 'number' && line > 1 ? Math.floor(line) - 1 : 0
  const count = typeof limit === 'number' && limit >= 0 ? Math.floor(limit) : null
  if (first === 0 && count === null) return text
  const lines = text.split('\n')
  return lines.slice(first, count === null ? lines.length : first + count).join('\n')
}
