import type { Json } from '../core/json.ts'
import { textOf } from '../core/message.ts'
import type { ContextMessage, ModelRequest } from '../core/model.ts'
import type { ScriptedCall, ScriptedReply } from './scripted.ts'
import { scriptedCommands } from './scripted-commands.ts'
import { dialogueAnswer, dialogueResult } from './scripted-dialogue.ts'
import {
  digestOf,
  factsOf,
  newResults,
  normalizedThing,
  readMemory,
  type ScriptedMemory,
  wantsDigest,
  withHistories,
} from './scripted-memory.ts'

/** The answer of the scripted model without a script. */
export function answerFor(request: ModelRequest): ScriptedReply {
  const messages = withHistories(request.messages)
  const results = newResults(messages)
  if (results.length > 0) return results.map(one => dialogueResult(one) ?? sayResult(one)).join('\n')
  const newest = messages.findLastIndex(message => message.role === 'user')
  const question = messages[newest]
  const most = request.maxOutput === undefined ? 1_200 : Math.min(1_200, request.maxOutput * 4)
  if (question === undefined) return wantsSystemDigest(messages) ? digestOf(messages, most) : greeting
  const text = textOf(question)
  const directive = directed(text, request)
  if (directive !== null) return directive
  const memory = readMemory(messages)
  const asked = text.trim()
  if (wantsDigest(asked) || wantsAccount.test(asked) || wantsSystemDigest(messages)) {
    return digestOf(memory.said.length === 0 ? messages : messages.slice(0, newest), most)
  }
  const prepared = dialogueAnswer(asked, memory, request)
  if (prepared !== null) return prepared
  for (const answer of answers) {
    const said = answer(asked, memory)
    if (said !== null) return said
  }
  return fallback(asked, question, memory)
}

const greeting =
  'Hello! I am the scripted model: I run offline, without a key, and I know what was said in this conversation. ' +
  'Tell me your name, or ask me later what you said first.'

const hint =
  'I am the demo model: I cannot think, but I remember. Say "tour" to see what Skein does. ' +
  'For a real model, set a key such as ANTHROPIC_API_KEY.'

const wantsAccount =
  /\bwhat (?:did|have) we (?:talk|spoken|speak|discuss)|\bwhat (?:have i|did i) (?:told|tell) you so far|\bwhat do you know about me\b/i

/** `what is my name`, `when is the party` */
const wanted =
  /\b(?:what(?:'s| is| are| was)|who(?:'s| is)|where(?:'s| is)|when(?:'s| is)|which is|(?:know|remember)) (my|our|the) ([\p{L}\d '-]{1,40}?)\s*\??$/iu

const abilities =
  'I am the scripted model, for first steps and tests: no key, no network, always the same answers. Ask me what you said ' +
  'first or last, tell me that your name is Ada or that the door code is 4711 and ask for it later, let me sum up the ' +
  'conversation, add two numbers or count to ten. Say "tour" to see what Skein does. With /tool name {"json": 1} I call a tool, with /slow I answer slowly, ' +
  'with /fail and /overflow I fail as a provider would.'

type Answerer = (asked: string, memory: ScriptedMemory) => string | null

/** Tried in order; the first that returns a text answers. */
const answers: readonly Answerer[] = [
  asked =>
    /^(hi|hello|hey|good (morning|afternoon|evening)|greetings)\b[^?]{0,20}$/i.test(asked) &&
    !factsOf([asked]).has('name')
      ? greeting
      : null,

  (asked, { said, partial }) =>
    /\b(what|which)\b.*\b(i|my)\b.*\b(say|said|ask|asked|tell|told|write|wrote|message|question)\b.*\bfirst\b|\bmy (very )?first (message|question|words)\b/i.test(
      asked,
    )
      ? quote(
          said[0],
          partial ? 'Of what I was given, the first thing you said was' : 'The first thing you said was',
        )
      : null,

  (asked, { said }) => {
    if (!/\bwhat\b.*\b(should|did|do)\b.*\bremember\b/i.test(asked)) return null
    const wishes = said.flatMap(text => /\bremember(?: that)?:? ([^\n?]+)$/im.exec(text)?.[1] ?? [])
    if (wishes.length === 0) return 'You have asked me to remember nothing.'
    return `You asked me to remember: ${wishes.join('; ')}`
  },

  (asked, { said }) =>
    /\bwhat did i\b.*\b(say|ask|tell|write)\b|\brepeat what i said\b|\bmy (last|previous) (message|question|words)\b|\bwhat was i saying\b/i.test(
      asked,
    )
      ? quote(said.at(-1), 'Before this you said')
      : null,

  (asked, { answered }) => {
    if (
      !/\bwhat did you\b.*\b(say|answer|tell|write)\b|\byour (last|previous|first) (message|answer)\b/i.test(
        asked,
      )
    )
      return null
    return quote(
      /\bfirst\b/i.test(asked) ? answered[0] : answered.at(-1),
      'I said',
      'I have said nothing yet.',
    )
  },

  (asked, { messages, said }) =>
    /\bhow many (messages|questions|times|things)\b/i.test(asked)
      ? `I was given ${messages} messages, ${said.length + 1} of them yours, this one included.`
      : null,

  (asked, { facts }) => {
    if (/\bwho am i\b|\bwhat am i called\b/i.test(asked)) return known(facts, 'my', 'name')
    const [, whose, thing] = wanted.exec(asked) ?? []
    if (whose === undefined || thing === undefined) return null
    const mine = whose.toLowerCase() === 'my'
    return mine || facts.has(normalizedThing(thing)) ? known(facts, whose, normalizedThing(thing)) : null
  },

  asked => sum(asked),

  asked => {
    const end = Number(/\bcount (?:up )?to (\d{1,4})\b/i.exec(asked)?.[1])
    return end > 0 ? Array.from({ length: end }, (_, n) => n + 1).join(', ') : null
  },

  asked =>
    /^(help|\?)$|\b(who|what) are you\b|\bwhat can you do\b|\b(can|could) you help\b/i.test(asked)
      ? abilities
      : null,

  asked => (/^(bye|goodbye|see you|good night)\b/i.test(asked) ? 'Goodbye. What was said stays here.' : null),

  asked => (/^(thanks|thank you|thx|cheers)\b/i.test(asked) ? 'You are welcome.' : null),

  asked => (/^(please )?remember\b/i.test(asked) ? 'I will, as long as it is in this conversation.' : null),

  asked => {
    if (asked.endsWith('?')) return null
    const facts = factsOf([asked])
    const name = facts.get('name')
    if (name !== undefined) return `Nice to meet you, ${name}.`
    return facts.size === 0 ? null : `Noted: ${asked.replace(/[.!]+$/, '')}.`
  },
]

function fallback(asked: string, question: ContextMessage, { answered }: ScriptedMemory): string {
  const media = question.content.filter(block => block.type !== 'text').map(block => block.type)
  const seen = media.length === 0 ? '' : ` With it came: ${media.join(', ')}.`
  const heard = asked === '' ? 'You sent no words.' : `You said: ${shown(asked)}`
  const known = answered.some(text => text.includes(hint))
  return `${heard}${seen} ${known ? 'To that I have no answer of my own.' : hint}`
}

function wantsSystemDigest(messages: readonly ContextMessage[]): boolean {
  const prompt = messages.find(message => message.role === 'system')
  return prompt !== undefined && /^\W*(?:you )?(?:please )?(?:are to )?summar/i.test(textOf(prompt))
}

function known(facts: ReadonlyMap<string, string>, whose: string, thing: string): string {
  const value = facts.get(thing)
  if (value === undefined) return `You have not told me your ${thing}.`
  return `${whose.toLowerCase() === 'the' ? 'The' : 'Your'} ${thing} is ${value}.`
}

function quote(text: string | undefined, lead: string, none = 'You have said nothing before this.'): string {
  return text === undefined ? none : `${lead}: ${shown(text)}`
}

function shown(text: string): string {
  return `"${text.length > 300 ? `${text.slice(0, 300)}…` : text}"`
}

function sayResult({ name, output, failed }: { name: string; output: string; failed: boolean }): string {
  return failed ? `${name} failed: ${shown(output)}` : `${name} returned: ${shown(output)}`
}

function sum(asked: string): string | null {
  const match =
    /^(?:what(?:'s| is)|how much is|compute|calculate)?\s*(-?\d+(?:\.\d+)?)\s*([-+*/x×÷])\s*(-?\d+(?:\.\d+)?)\s*[=?.]*$/i.exec(
      asked,
    )
  if (match === null) return null
  const [, left = '', sign = '', right = ''] = match
  const value = calculate(Number(left), sign, Number(right))
  return value === null
    ? 'There is no such number.'
    : `${left} ${sign} ${right} = ${Number(value.toPrecision(12))}`
}

function calculate(left: number, sign: string, right: number): number | null {
  if (sign === '+') return left + right
  if (sign === '-') return left - right
  if (sign === '/' || sign === '÷') return right === 0 ? null : left / right
  return left * right
}

const direction = new RegExp(`^\\s*/(${scriptedCommands.join('|')})\\b[ \\t]*(.*)$`, 's')

/** The reply that lines of the newest user message ask for, so that a person can see a tool run, a slow
 *  answer, a failure or a full window without writing code:
 *
 *  - `/tool name {"json": "input"}` calls a tool that is offered; several lines are parallel calls
 *  - `/say words` answers with exactly these words, `/think words` thinks them first
 *  - `/slow [ms] words` answers word by word; default: 200 ms apart
 *  - `/long n` answers with n words
 *  - `/fail [status]` fails as a provider does (500), `/overflow [tokens]` says that the window is too small
 *
 *  Null if there are none. */
function directed(text: string, request: ModelRequest): ScriptedReply | null {
  const lines = text.split('\n').map(line => direction.exec(line))
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
