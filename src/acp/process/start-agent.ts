import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { atMost } from '../../system/at-most.ts'
import { endGroup, endWithUs } from '../../system/process-group.ts'
import { createLineSplitter, LineTooLong } from '../wire/read-lines.ts'
import { createLineSender } from '../wire/send-lines.ts'
import type { WireLine } from '../wire/wire-line.ts'
import {
  type AgentCommand,
  type AgentProcess,
  type AgentProcessOptions,
  cannotStart,
  type ProcessEnd,
  type StartAgent,
} from './agent-process.ts'

/** How long output may still arrive after the exit. A child of the agent may keep its output open for
 *  ever. */
const lateMs = 200

/** A pipe holds at most 1 MiB, and one read returns 64 KiB. */
const mostReads = 32

/** Starts an agent in its own process group: Ctrl+C for us does not reach it, and its children end with it
 *  (`npx` and wrappers start the agent as a child). For POSIX systems. */
export const startAgent: StartAgent = (command, options) => {
  let child: ChildProcessWithoutNullStreams
  try {
    child = launch(command)
  } catch (error) {
    return failedProcess(Promise.resolve(startFailure(error, command)), options)
  }
  // Without a free file descriptor there are no streams.
  if (child.stdin) return running(child, command, options)
  const reason = new Promise<string>(resolve => {
    child.on('error', error => resolve(startFailure(error, command)))
  })
  return failedProcess(reason, options)
}

function launch({ command, args, cwd, env }: AgentCommand): ChildProcessWithoutNullStreams {
  return spawn(command, [...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
}

function running(
  child: ChildProcessWithoutNullStreams,
  command: AgentCommand,
  options: AgentProcessOptions,
): AgentProcess {
  const { graceMs = 2_000 } = options
  const stderr = lastLines(20)
  const exit = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<ProcessEnd>()
  let how: Pick<ProcessEnd, 'code' | 'signal'> | null = null
  let isOver = false
  let isSettled = false
  let isPaused = false
  let mayPause = true
  let hasHeard = false
  let fault: Error | null = null
  let late: NodeJS.Timeout | undefined
  let clearing: Promise<void> | null = null
  let ending: Promise<ProcessEnd> | null = null

  /** No line follows. */
  function silence(reason?: Error): void {
    if (isOver) return
    isOver = true
    child.stdout.destroy()
    options.onEnd(reason)
  }

  /** The process has exited, and all its output was handled. */
  function settle(): void {
    if (isSettled) return
    isSettled = true
    clearTimeout(late)
    lines.end()
    silence()
    child.stderr.destroy()
    child.stdin.destroy()
    ended.resolve({
      ...(how ?? { code: null, signal: null }),
      stderr: [stderr.text(), fault?.message].filter(Boolean).join('\n'),
    })
  }

  /** Waits for output that is on its way. Not while reading is paused: then the output waits for us. */
  function settleSoon(): void {
    clearTimeout(late)
    if (how && !isPaused && !isSettled) late = setTimeout(() => settleWhenQuiet(mostReads), lateMs)
  }

  /** Reads the available output first: if our process was blocked, the time is over before anything was
   *  read. */
  function settleWhenQuiet(reads: number): void {
    hasHeard = false
    setImmediate(() => {
      if (isPaused) return
      if (hasHeard && reads > 0) settleWhenQuiet(reads - 1)
      else settle()
    })
  }

  function clear(): Promise<void> {
    if (child.pid === undefined) return Promise.resolve()
    clearing ??= endGroup(child.pid, graceMs)
    return clearing
  }

  const onLine = (line: WireLine) => {
    if (!isOver) options.onLine(line)
  }
  const lines = createLineSplitter(onLine)

  /** Reads explicitly instead of using flowing mode: Node resumes the output of a process that has exited,
   *  even if it was paused. */
  function hear(): void {
    const chunk: Buffer | null = isPaused || isOver ? null : child.stdout.read()
    if (chunk === null) return
    hasHeard = true
    try {
      lines.push(chunk)
    } catch (error) {
      if (!(error instanceof LineTooLong)) throw error
      fault = error
      silence(error)
      void end()
    }
  }

  function resume(): void {
    if (!isPaused) return
    isPaused = false
    hear()
    settleSoon()
  }

  async function leave(): Promise<ProcessEnd> {
    sender.close()
    await atMost(graceMs, exit.promise)
    await clear()
    await exit.promise
    // The caller no longer waits for a slow reader.
    mayPause = false
    resume()
    return ended.promise
  }

  function end(): Promise<ProcessEnd> {
    ending ??= leave()
    return ending
  }

  // A process that no longer reads is about to exit, or hangs.
  const sender = createLineSender(child.stdin, {
    onDrain: () => options.onDrain?.(),
    onBroken: () => void end(),
  })
  if (child.pid !== undefined) endWithUs(child.pid)
  child.on('error', error => {
    if (child.pid !== undefined) return
    how = { code: cannotStart, signal: null }
    stderr.add(`${startFailure(error, command)}\n`)
    exit.resolve()
    settle()
  })
  child.on('exit', (code, signal) => {
    how = { code, signal }
    exit.resolve()
    void clear()
    settleSoon()
  })
  child.on('close', settle)
  child.stdout.on('readable', hear)
  child.stdout.on('error', () => {})
  child.stderr.on('error', () => {})
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr.add(text)
    options.onStderr?.(text)
  })

  return {
    pid: child.pid ?? null,
    ended: ended.promise,
    end,
    send: sender.send,
    get unsent() {
      return sender.unsent
    },
    pause() {
      if (isOver || !mayPause) return
      isPaused = true
      clearTimeout(late)
    },
    resume,
    close: sender.close,
  }
}

/** Replaces a process that could not be started at all. */
function failedProcess(reason: Promise<string>, { onEnd }: AgentProcessOptions): AgentProcess {
  const ended = reason.then((stderr): ProcessEnd => {
    onEnd()
    return { code: cannotStart, signal: null, stderr }
  })
  const nothing = () => {}
  return {
    pid: null,
    ended,
    end: () => ended,
    send: nothing,
    unsent: 0,
    pause: nothing,
    resume: nothing,
    close: nothing,
  }
}

/** Why a command could not be started, for people. Node reports a missing directory as a missing command. */
function startFailure(error: unknown, { command, cwd }: AgentCommand): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (cwd !== undefined && !existsSync(cwd)) return `the directory ${cwd} does not exist`
  if (code === 'ENOENT') return `${command}: command not found`
  if (code === 'EACCES') return `${command}: permission denied`
  return `${command} could not be started: ${message}`
}

/** Most characters of stderr to keep. */
const mostChars = 64 * 1024

/** Keeps the last lines of a text of any length. */
function lastLines(count: number): { add(text: string): void; text(): string } {
  let kept = ''
  return {
    add(text) {
      kept += text
      if (kept.length > 2 * mostChars) kept = kept.slice(-mostChars)
    },
    text: () => kept.slice(-mostChars).trimEnd().split('\n').slice(-count).join('\n'),
  }
}
