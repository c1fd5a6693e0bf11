import type { Json } from '../core/json.ts'
import type { ModelRequest } from '../core/model.ts'
import type { ScriptedCall, ScriptedReply } from './scripted.ts'

/** Lines of the newest user message that tell the scripted model what to do, so that a person can see a tool run, a
 *  slow answer, a failure or a full window without writing code:
 *
 *  - `/tool name {"json": "input"}` calls a tool that is offered; several lines are parallel calls
 *  - `/say words` answers with exactly these words, `/think words` thinks them first
 *  - `/slow [ms] words` answers word by word, 200 ms apart unless said otherwise
 *  - `/long n` answers with n words
 *  - `/fail [status]` fails as a provider does (500), `/overflow [tokens]` says that the window is too small
 *
 *  Null if there are none. */
export function directed(text: string, request: ModelRequest): ScriptedReply | null {
  const lines = text
    .split('\n')
    .map(line => /^\s*\/(tool|say|think|slow|long|fail|overflow)\b[ \t]*(.*)$/s.exec(line))
  const found = lines.flatMap(match =>
    match === null ? [] : [{ verb: match[1], rest: match[2]?.trim() ?? '' }],
  )
  if (found.length === 0) return null
  const first = (verb: string) => found.find(one => one.verb === verb)?.rest
  const number = (rest: string | undefined, otherwise: number) =>
    Number(/^\d+/.exec(rest ?? '')?.[0] ?? otherwise)

  if (first('fail') !== undefined) return { fail: number(first('fail'), 500) }
  if (first('overflow') !== undefined) return { overflow: number(first('overflow'), 1_000) }
  const thinking = first('think')
  const thought = thinking === undefined ? {} : { thinking }
  const calls = found.filter(one => one.verb === 'tool').map(one => callOf(one.rest))
  if (calls.length > 0) return called(calls, request, thought)
  const slow = first('slow')
  if (slow !== undefined) {
    const words = slow.replace(/^\d+\s*/, '') || 'One word after the other, as slowly as you asked.'
    return { ...thought, text: words, delayMs: number(slow, 200) }
  }
  const long = first('long')
  if (long !== undefined) return { ...thought, text: manyWords(number(long, 100)) }
  return { ...thought, text: first('say') || 'I thought about it.' }
}

function callOf(rest: string): { readonly name: string; readonly input: Json | undefined } {
  const [, name = '', json = ''] = /^(\S*)\s*(.*)$/s.exec(rest) ?? []
  if (json === '') return { name, input: {} }
  try {
    return { name, input: JSON.parse(json) }
  } catch {
    return { name, input: undefined }
  }
}

function called(
  calls: readonly { readonly name: string; readonly input: Json | undefined }[],
  request: ModelRequest,
  thought: { readonly thinking?: string },
): ScriptedReply {
  const offered = (request.tools ?? []).map(tool => tool.name)
  for (const { name, input } of calls) {
    if (!offered.includes(name)) {
      const list = offered.length === 0 ? 'no tools are offered' : `these are offered: ${offered.join(', ')}`
      return `I cannot call ${name === '' ? 'a tool without a name' : name}: ${list}.`
    }
    if (input === undefined) return `I cannot call ${name}: what follows its name is not JSON.`
  }
  return { ...thought, calls: calls as readonly ScriptedCall[] }
}

function manyWords(count: number): string {
  return Array.from({ length: Math.min(count, 1_000_000) }, (_, n) => `word${n + 1}`).join(' ')
}
