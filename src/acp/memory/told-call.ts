import type { ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import { collapseSpaces } from '../../core/collapse-spaces.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { outputParts } from '../../core/tool-output.ts'
import { isObject } from '../wire/is-object.ts'
import { cutLine, headAndTail } from './cut-text.ts'

/** A tool call and its result, as far as another agent is told. */
export interface ToldCall {
  /** What was done, on one line: `ran npm test`, `edited src/a.ts (+3 −1)`. */
  readonly action: string
  /** How it ended: `exit 1`, `failed`, `no result`. Null if there is nothing to say. */
  readonly status: string | null
  /** The output as text, without terminal colours. */
  readonly output: string
  readonly isFailed: boolean
}

/** Most characters of an action. */
const mostAction = 300

/** Reads a stored call, from whichever of its fields the agent has sent. Paths below `directory` become
 *  relative. */
export function toldCall(call: ToolCallBlock, result: ToolResultBlock | null, directory: string): ToldCall {
  const acp = { ...acpOf(call.metadata), ...acpOf(result?.metadata) }
  const input = acp.input ?? call.input
  const facts = { call, acp, input: isObject(input) ? input : {}, directory }
  const output = result ? outputText(result) : ''
  const exit = result ? exitCodeOf(acp, result, output) : null
  const isFailed = result?.isError === true || (exit !== null && exit !== 0)
  const status = result === null ? 'no result' : exit !== null ? `exit ${exit}` : isFailed ? 'failed' : null
  return { action: cutLine(collapseSpaces(actionOf(facts)), mostAction), status, output, isFailed }
}

/** The line for a call, with at most this much of its output. Changes and reads need no output: the files
 *  have it. */
export function callText({ action, status, output, isFailed }: ToldCall, most: number): string {
  const isQuoted =
    most > 0 && output.trim() !== '' && (isFailed || !/^(?:edited|wrote|read|deleted) /.test(action))
  const quoted = isQuoted ? quote(output, most, isFailed) : null
  const outcome = [status, quoted].filter(part => part !== null).join(': ')
  return outcome === '' ? action : `${action} → ${outcome}`
}

/** Outputs of this length are told on one line. */
const mostOnLine = 600

function quote(output: string, most: number, isFailed: boolean): string {
  const text = output.trim()
  if (most > mostOnLine)
    return text.includes('\n') ? `\n${headAndTail(text, most)}` : `"${headAndTail(text, most)}"`
  const line = collapseSpaces(text)
  if (line.length <= most) return `"${line}"`
  const reason = isFailed ? reasonIn(text) : null
  const begin = cutLine(reason ?? line, Math.ceil(most / 2))
  const end = collapseSpaces(text.slice(-4 * most))
    .slice(-Math.floor(most / 2))
    .replace(/^[\udc00-\udfff]/, '')
  return `"${begin}${begin.endsWith('…') ? '' : ' …'} ${end}"`
}

/** The line of an output that says why a command failed. */
function reasonIn(output: string): string | null {
  const lines = output.split('\n').filter(line => line.trim() !== '')
  const found =
    lines.find(line => /^\s*(?:\w*Error|\w*Exception|error(?:\[\w+\])?|fatal|panic)\b.*:/i.test(line)) ??
    lines.find(line => /\b(?:error|failed|expected|cannot|not found)\b/i.test(line))
  return found === undefined ? null : collapseSpaces(found)
}

interface CallFacts {
  readonly call: ToolCallBlock
  readonly acp: JsonObject
  readonly input: JsonObject
  readonly directory: string
}

function actionOf(facts: CallFacts): string {
  const { call, acp, input, directory } = facts
  const kind = typeof acp.kind === 'string' ? acp.kind : null
  const changes = changesIn(acp, directory)
  if (changes.length > 0) return changes.join(', ')
  const command = commandIn(input)
  if (command !== null && (kind === null || kind === 'execute' || kind === 'other')) return `ran ${command}`
  const title = titleOf(facts)
  if (kind === 'execute' && title !== null) return `ran ${title.replace(/^`(.*)`$/s, '$1')}`
  const path = pathIn(acp, input, directory)
  if (path !== null) {
    if (kind === 'edit') return `edited ${path}`
    if (kind === 'read') return `read ${path}`
    if (kind === 'delete') return `deleted ${path}`
  }
  // Some agents send no name: the kind was stored in its place.
  const isNamed = call.name !== kind && call.name !== 'other'
  const about = title ?? (Object.keys(input).length > 0 ? JSON.stringify(input) : null)
  if (!isNamed) return `used ${about ?? call.name}`
  return about === null || about.startsWith(call.name)
    ? `used ${about ?? call.name}`
    : `used ${call.name}: ${about}`
}

/** The agent's title for the call; null if it is only the name of the tool. */
function titleOf({ call, acp }: CallFacts): string | null {
  const title = typeof acp.title === 'string' ? acp.title.trim() : ''
  return title === '' || title === call.name ? null : title
}

/** The command line of a call: a text, or the words of one. A shell around it is left out. */
function commandIn(input: JsonObject): string | null {
  const given = input.command ?? input.cmd
  if (typeof given === 'string') return given.trim() === '' ? null : given
  if (!Array.isArray(given) || given.length === 0) return null
  const words = given.map(String)
  const isShell = words.length === 3 && /(?:^|\/)\w*sh$/.test(words[0]!) && /^-\w*c$/.test(words[1]!)
  return isShell ? words[2]! : words.join(' ')
}

function pathIn(acp: JsonObject, input: JsonObject, directory: string): string | null {
  const [location] = Array.isArray(acp.locations) ? acp.locations : []
  const { path, file_path, filePath, abs_path } = input
  const found = [isObject(location) ? location.path : null, path, file_path, filePath, abs_path].find(
    (one): one is string => typeof one === 'string' && one !== '',
  )
  return found === undefined ? null : relativeTo(directory, found)
}

/** `edited src/a.ts (+3 −1)` for each file of a call that changes files. */
function changesIn({ content }: JsonObject, directory: string): readonly string[] {
  if (!Array.isArray(content)) return []
  return content.flatMap(one => {
    if (!isObject(one) || one.type !== 'diff' || typeof one.path !== 'string') return []
    const path = relativeTo(directory, one.path)
    const [before, after] = [one.oldText, one.newText].map(text => (typeof text === 'string' ? text : null))
    if (before === null) return [`wrote ${path} (+${linesOf(after ?? '').length})`]
    const { added, removed } = lineCounts(before ?? '', after ?? '')
    return [`edited ${path} (+${added} −${removed})`]
  })
}

function relativeTo(directory: string, path: string): string {
  return directory !== '' && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

/** Most lines of a change to compare one by one. */
const mostCompared = 400

/** How many lines a change adds and removes. */
export function lineCounts(
  before: string,
  after: string,
): { readonly added: number; readonly removed: number } {
  let [old, now] = [linesOf(before), linesOf(after)]
  let same = 0
  while (same < old.length && same < now.length && old[same] === now[same]) same++
  ;[old, now] = [old.slice(same), now.slice(same)]
  same = 0
  while (same < old.length && same < now.length && old.at(-1 - same) === now.at(-1 - same)) same++
  ;[old, now] = [old.slice(0, old.length - same), now.slice(0, now.length - same)]
  const kept = old.length > mostCompared || now.length > mostCompared ? 0 : commonLines(old, now)
  return { added: now.length - kept, removed: old.length - kept }
}

/** The length of the longest common subsequence. */
function commonLines(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const line of a) {
    const next = [0]
    for (const [i, other] of b.entries())
      next.push(line === other ? row[i]! + 1 : Math.max(row[i + 1]!, next[i]!))
    row = next
  }
  return row[b.length]!
}

/** The exit code of a command: of its terminal, in its output, or in the text of its output. */
function exitCodeOf(acp: JsonObject, { output }: ToolResultBlock, text: string): number | null {
  const terminals = Array.isArray(acp.terminals) ? acp.terminals : []
  const exits = terminals.map(one => (isObject(one) && isObject(one.exit) ? one.exit.exit_code : null))
  const codes = [...exits, exitCodeIn(acp.rawOutput), exitCodeIn(output)]
  const code = codes.find((one): one is number => typeof one === 'number')
  if (code !== undefined) return code
  const said =
    acp.kind === 'execute'
      ? /exit(?:ed with)?(?: exit)? code:? (\d{1,3})\b\D*$/i.exec(text.slice(-200))
      : null
  return said ? Number(said[1]) : null
}

function exitCodeIn(output: Json | undefined): Json | null {
  if (!isObject(output)) return null
  const { exit_code, exitCode, exit, metadata } = output
  return exit_code ?? exitCode ?? exit ?? (metadata === output ? null : exitCodeIn(metadata))
}

/** The fields in which agents send the text of an output. */
const textFields = ['aggregated_output', 'formatted_output', 'output', 'stdout', 'content', 'text', 'message']

function outputText(result: ToolResultBlock): string {
  const parts = outputParts(result)
  const text = parts ? parts.filter(part => typeof part === 'string').join('\n') : textIn(result.output)
  return withoutFence(text.replaceAll(ansi, ''))
}

/** Colours and cursor movements. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const ansi = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))/g

function textIn(output: Json): string {
  if (typeof output === 'string') return output
  if (!isObject(output)) return JSON.stringify(output)
  const field = textFields.find(name => typeof output[name] === 'string' && output[name] !== '')
  if (field === undefined) return JSON.stringify(output)
  const { stderr } = output
  const errors = field === 'stdout' && typeof stderr === 'string' && stderr !== '' ? `\n${stderr}` : ''
  return `${String(output[field])}${errors}`
}

/** Some agents send an output as a block of Markdown. */
function withoutFence(text: string): string {
  return /^\s*(`{3,})\w*\n([\s\S]*?)\n?\1\s*$/.exec(text)?.[2] ?? text
}

function acpOf(metadata: JsonObject | undefined): JsonObject {
  return isObject(metadata?.acp) ? metadata.acp : {}
}
