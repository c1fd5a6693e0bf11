import { textOf } from '../core/message.ts'
import type { ContextMessage, ModelRequest } from '../core/model.ts'
import type { ScriptedReply } from './scripted.ts'
import { digestOf, wantsDigest } from './scripted-digest.ts'
import { directed } from './scripted-directives.ts'
import { factsOf, type Memory, newResults, plain, remember } from './scripted-memory.ts'
import { withTold } from './scripted-told.ts'

/** What the scripted model says when no script tells it what to say. */
export function answerFor(request: ModelRequest): ScriptedReply {
  const messages = withTold(request.messages)
  const results = newResults(messages)
  if (results.length > 0) return results.map(sayResult).join('\n')
  const newest = messages.findLastIndex(message => message.role === 'user')
  const question = messages[newest]
  const most = request.maxOutput === undefined ? 1_200 : Math.min(1_200, request.maxOutput * 4)
  if (question === undefined) return wantsSystemDigest(messages) ? digestOf(messages, most) : greeting
  const text = textOf(question)
  const directive = directed(text, request)
  if (directive !== null) return directive
  const memory = remember(messages)
  const asked = text.trim()
  if (wantsDigest(asked) || wantsAccount.test(asked) || wantsSystemDigest(messages)) {
    return digestOf(memory.said.length === 0 ? messages : messages.slice(0, newest), most)
  }
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
  'I am only the scripted model. For a real one, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY ' +
  'and choose a model, for example anthropic/claude-sonnet-5-5 or openai/gpt-5.'

const wantsAccount =
  /\bwhat (?:did|have) we (?:talk|spoken|speak|discuss)|\bwhat (?:have i|did i) (?:told|tell) you so far|\bwhat do you know about me\b/i

/** `what is my name`, `when is the party` */
const wanted =
  /\b(?:what(?:'s| is| are| was)|who(?:'s| is)|where(?:'s| is)|when(?:'s| is)|which is|(?:know|remember)) (my|our|the) ([\p{L}\d '-]{1,40}?)\s*\??$/iu

const abilities =
  'I am the scripted model, for first steps and tests: no key, no network, always the same answers. Ask me what you said ' +
  'first or last, tell me that your name is Ada or that the door code is 4711 and ask for it later, let me sum up the ' +
  'conversation, add two numbers or count to ten. With /tool name {"json": 1} I call a tool, with /slow I answer slowly, ' +
  'with /fail and /overflow I fail as a provider would.'

type Answerer = (asked: string, memory: Memory) => string | null

/** Tried in order; the first that has something to say answers. */
const answers: readonly Answerer[] = [
  asked =>
    /^(hi|hello|hey|good (morning|afternoon|evening)|greetings)\b[^?]{0,20}$/i.test(asked) ? greeting : null,

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
    return mine || facts.has(plain(thing)) ? known(facts, whose, plain(thing)) : null
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

function fallback(asked: string, question: ContextMessage, { answered }: Memory): string {
  const media = question.blocks.filter(block => block.type !== 'text').map(block => block.type)
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
