import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fullModelName } from '../../api/full-model-name.ts'
import type { Config } from '../../config/config.ts'
import { inspectConfig } from '../../config/read-config.ts'
import type { Verified, Verifier } from '../../core/finding.ts'
import { modelName } from '../../core/model-name.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { errorReport } from '../command-line/error-report.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { chooseModel } from '../model/choose-model.ts'
import { missingKey, presentKeys } from '../model/provider-keys.ts'
import { formatBytes, formatInteger, plural } from '../output/number.ts'
import { createProgressBar } from '../output/progress-bar.ts'
import { wrap } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { shownLocation } from '../store/store-location.ts'

interface Check {
  readonly name: 'node' | 'store' | 'verify' | 'keys' | 'config' | 'mcp' | 'agents' | 'acp' | 'discord'
  readonly status: 'ok' | 'note' | 'failed'
  readonly message: string
}

/** `skein doctor`: checks the installation, the store, the configuration and the keys. Exit 1 if a check
 *  fails. */
export const doctorCommand: CommandHandler = async (_given, context) => {
  const checks = [checkNode(), ...(await checkStore(context)), ...(await checkSettings(context))]
  const problems = checks.filter(({ status }) => status === 'failed').length
  const notes = checks.filter(({ status }) => status === 'note').length
  if (context.json) context.out.line(JSON.stringify({ checks, problems, notes }))
  else {
    const { style } = context.out
    for (const { name, status, message } of checks) {
      if (context.quiet && status === 'ok') continue
      const { isTerminal, width } = context.out
      const room = isTerminal ? Math.max(20, width - 11) : Number.POSITIVE_INFINITY
      const [first = '', ...more] = wrap(style.safe(message), room)
      context.out.line(`${style[status](style.symbols[status])} ${name.padEnd(8)} ${first}`)
      for (const line of more) context.out.line(`${' '.repeat(11)}${line}`)
    }
    const counts = [
      ...(problems > 0 ? [plural(problems, 'problem')] : []),
      ...(notes > 0 ? [plural(notes, 'note')] : []),
    ]
    if (!context.quiet) context.out.line(counts.length > 0 ? counts.join(', ') : 'no problems found')
  }
  return problems > 0 ? exitCode.failure : exitCode.ok
}

/** The oldest supported version. */
const oldestNode = [22, 14] as const

function checkNode(): Check {
  const { node, napi } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])
  if (!isOld) return { name: 'node', status: 'ok', message: `${node}, Node-API ${napi}` }
  return {
    name: 'node',
    status: 'failed',
    message: `${node} is too old: install ${oldestNode.join('.')} or newer`,
  }
}

async function checkStore(context: CommandContext): Promise<readonly Check[]> {
  const { target, isFile } = context.location()
  const shown = shownLocation(context)
  if (isFile && !existsSync(target)) return [newPlace(target, shown)]
  try {
    const store = await context.store()
    const facts = [
      shown,
      `schema ${await store.schemaVersion()}`,
      ...(isFile ? [sizeOf(target), modeOf(target)] : []),
    ]
    const { dot } = context.out.style.symbols
    const about: Check = { name: 'store', status: 'ok', message: facts.join(` ${dot} `) }
    return [about, ...(isFile ? accessNotes(target, shown) : []), await checkSample(store, context)]
  } catch (error) {
    const { message, hint } = errorReport(error)
    return [{ name: 'store', status: 'failed', message: `${shown}: ${message}${hint ? `. ${hint}` : ''}` }]
  }
}

/** A missing store is not a problem if it can be created. */
function newPlace(target: string, shown: string): Check {
  let folder = dirname(target)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return isWritable(folder)
    ? { name: 'store', status: 'ok', message: `${shown} is created with the first message` }
    : { name: 'store', status: 'failed', message: `${shown} cannot be made: ${folder} is not writable` }
}

/** Free bytes below which a store can hardly be written. */
const leastFree = 65_536

function accessNotes(target: string, shown: string): readonly Check[] {
  const notes: Check[] = []
  if (!isWritable(target) || !isWritable(dirname(target))) {
    notes.push({
      name: 'store',
      status: 'failed',
      message: `read-only, reading works. To write: chmod u+w ${shown}`,
    })
  }
  const { bavail, bsize } = statfsSync(dirname(target))
  if (bavail * bsize < leastFree) {
    notes.push({
      name: 'store',
      status: 'failed',
      message: `the disk of ${shown} is full, reading works. Free some space`,
    })
  }
  if (process.platform !== 'win32' && (statSync(target).mode & 0o077) !== 0) {
    notes.push({
      name: 'store',
      status: 'note',
      message: `others may read it. To keep it to yourself: chmod 600 ${shown}`,
    })
  }
  return notes
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function sizeOf(target: string): string {
  const log = statSync(`${target}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return formatBytes(statSync(target).size + log)
}

function modeOf(target: string): string {
  return (statSync(target).mode & 0o777).toString(8).padStart(4, '0')
}

const sample = 1_000

async function checkSample(store: Verifier, context: CommandContext): Promise<Check> {
  const progress = createProgressBar(context, 'checking', 'messages')
  let verified: Verified
  try {
    verified = await store.verify({
      sampleSize: sample,
      signal: context.signal,
      onProgress: ({ messages }) => progress.show(messages, sample),
    })
  } finally {
    progress.end()
  }
  const { messages: checked, findings } = verified
  if (findings.damage > 0) {
    return {
      name: 'verify',
      status: 'failed',
      message: `${plural(findings.damage, 'message')} damaged among the newest ${formatInteger(checked)}. All of them: ${skeinCommand(context)} verify`,
    }
  }
  const which =
    checked < sample ? `all ${plural(checked, 'message')}` : `newest ${formatInteger(checked)} messages`
  return {
    name: 'verify',
    status: 'ok',
    message: checked === 0 ? 'nothing to check yet' : `${which} ${checked === 1 ? 'is' : 'are'} sound`,
  }
}

async function checkSettings(context: CommandContext): Promise<readonly Check[]> {
  const { config, problems } = await inspectConfig(context.cwd, context.env)
  const present = presentKeys(context.env)
  const wanted = new Set([
    chooseModel({ arguments: [], options: {} }, context.env, config).id,
    ...Object.values(config.models).map(name => fullModelName(name)),
  ])
  const lacking = Map.groupBy([...wanted], model => missingKey(model, context.env))
  lacking.delete(null)
  const set =
    present.length === 0
      ? 'no API key is set, so only the demo model and local models work'
      : `${present.join(', ')} ${present.length === 1 ? 'is' : 'are'} set`
  const failing = [...lacking].map(
    ([variable, models]) =>
      `${models.map(modelName).join(', ')} ${models.length === 1 ? 'needs' : 'need'} ${variable}`,
  )
  const keys: Check = {
    name: 'keys',
    status: failing.length > 0 || present.length === 0 ? 'note' : 'ok',
    message: [set, ...failing].join('. '),
  }
  const settings = problems.map(({ message }): Check => ({ name: 'config', status: 'failed', message }))
  const ignored = config.ignored.map(
    (reason): Check => ({ name: 'config', status: 'note', message: `not read: ${reason}` }),
  )
  if (settings.length === 0) {
    const files =
      config.files.length === 0
        ? 'no skein.yaml, everything has its default'
        : `${plural(config.files.length, 'file')} read`
    settings.push({ name: 'config', status: 'ok', message: files })
  }
  return [keys, ...settings, ...ignored, ...checkPrograms(config), ...checkDiscord(config)]
}

/** Names the settings of MCP servers and agents that are set, not their values: those may contain keys. */
function checkPrograms({ mcp, agents, sources }: Config): readonly Check[] {
  const set = {
    mcp: Object.keys(mcp).map(server => `mcp.${server}`),
    agents: Object.keys(agents).map(agent => `agents.${agent}`),
    acp: Object.keys(sources).filter(path => path.startsWith('acp.')),
  }
  return (['mcp', 'agents', 'acp'] as const)
    .filter(name => set[name].length > 0)
    .map(name => ({
      name,
      status: 'ok',
      message: `${set[name].join(', ')} ${set[name].length === 1 ? 'is' : 'are'} set`,
    }))
}

/** Says that a token is set, and nothing about its value. */
function checkDiscord({ discord, sources }: Config): readonly Check[] {
  if (discord.token === null) return []
  const source = sources['discord.token']
  const where = source?.kind === 'environment' ? source.variable : 'discord.token'
  return [{ name: 'discord', status: 'ok', message: `${where} is set. To try it: skein discord --check` }]
}
