import type { Target } from '../../agent/journal.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewMessage } from '../../core/message.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { type Answered, printAnswer } from '../answer/print-answer.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Given, hasOption, type Run } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { demoNote } from '../model/choose-model.ts'
import { openSpeaker, type Speaker } from '../model/model-setup.ts'
import { turnCost } from '../output/cost.ts'
import { markdownSink } from '../output/markdown-sink.ts'
import { noteLine } from '../output/print.ts'
import { shortIdIn } from '../output/short-id.ts'
import { duration } from '../output/time.ts'
import { firstPlace } from '../store/store-location.ts'
import { type Chosen, chooseConversation } from '../target/choose-conversation.ts'
import { headerLines } from '../target/header-lines.ts'
import { wishesOf } from '../target/target-flags.ts'
import { answerJson } from './answer-json.ts'
import { messageOf, readAsked } from './prompt-message.ts'
import { receiptLine } from './receipt-line.ts'

/** `skein [prompt…]`: one question, one answer. Without one, on a terminal, it is `skein chat`. */
export const ask: Run = async (given, world) => {
  const wishes = wishesOf(given)
  const asked = await readAsked(given, world)
  const isBare = messageOf(asked) === null
  // The word after -c may still turn out to be the prompt.
  if (isBare && !wishes.goOn) return chatInstead(given, world)
  const speaker = await openSpeaker(given, world)
  const keptIn = wishes.incognito ? null : firstPlace(world)
  const chosen = await chooseConversation(given, world)
  const message = messageOf(asked, chosen.word)
  if (message === null) return chatInstead(given, world)
  return talk({ message, speaker, chosen, keptIn, world })
}

/** Nothing was asked: on a terminal there is somebody to talk with. */
async function chatInstead(given: Given, world: World): Promise<number> {
  if (!world.stdin.isTTY || world.json || hasOption(given, 'attach'))
    throw new UsageError('there is nothing to ask', 'Ask with skein "…", or pipe the question in')
  const { chat } = await import('../chat/chat.ts')
  return chat(given, world)
}

interface Talk {
  readonly message: NewMessage
  readonly speaker: Speaker
  readonly chosen: Chosen
  readonly keptIn: string | null
  readonly world: World
}

async function talk({ message, speaker, chosen, keptIn, world }: Talk): Promise<number> {
  const { err, out, quiet, json } = world
  const store = chosen.how === 'incognito' ? null : await world.store()
  const target = await chosen.enter(speaker.model.id)
  const say = (line = '') => {
    if (!quiet && !json) err.line(line)
  }
  const gap = () => {
    if (out.isTerminal && err.isTerminal) say()
  }
  if (speaker.choice.from === 'nothing') say(noteLine(demoNote, err))
  for (const line of headerLines(chosen, err, { now: world.now(), keptIn, ...branchOf(target) })) say(line)
  gap()

  await using agent = await speaker.agentOn(store)
  const heard: Heard = { branch: null, forked: false, text: '' }
  const run = agent.send(target, message, { onBusy: 'fork', signal: world.signal })
  try {
    const printed = await printAnswer(run, world, {
      model: speaker.model.id,
      ...(out.isTerminal && !json ? { sink: markdownSink(out) } : {}),
      observe: event => {
        if (event.type === 'started') Object.assign(heard, { branch: event.branch, forked: event.forked })
        if (event.type === 'context') heard.text = ''
        if (event.type === 'text') heard.text += event.text
      },
    })
    const answered = await afterWaiting(printed, store, world)
    if (json) await printJson(answered, heard, { chosen, speaker, store, world })
    else {
      gap()
      for (const line of endLines(answered, await shortOf(answered, store), speaker, world)) say(line)
    }
    return exitCode(answered)
  } catch (error) {
    // The question may still wait for the store: nothing is said about it before that is known.
    await waitUntilSaved(store, world)
    await afterFailure(heard, { chosen, speaker, store, world })
    throw error
  }
}

/** What became of a run once its messages are stored, or the person has stopped waiting for that. */
async function afterWaiting(answered: Answered, store: object | null, world: World): Promise<Answered> {
  const { reply } = answered
  if (!reply.whenSaved || !(await waitUntilSaved(store, world))) return answered
  const { saved, unsaved, branch, head } = await reply.whenSaved
  return { ...answered, reply: { ...reply, saved, unsaved, branch, head } }
}

/** What was heard of a run, should it fail. */
interface Heard {
  branch: BranchRef | null
  forked: boolean
  text: string
}

function branchOf(target: Target): { readonly branch?: string } {
  return typeof target === 'object' && 'conversationId' in target ? { branch: target.name } : {}
}

/** The answer's id as it can be pasted; null where nothing is kept. */
async function shortOf(
  { reply }: Answered,
  store: Pick<ConversationReader, 'resolve'> | null,
): Promise<string | null> {
  return store && reply.head ? shortIdIn(store, reply.head) : null
}

/** The receipt, and what a person has to know beside it. */
function endLines(
  answered: Answered,
  message: string | null,
  speaker: Speaker,
  world: World,
): readonly string[] {
  const { err } = world
  const { reply, tookMs, context } = answered
  const { style } = err
  const note = (text: string) => noteLine(text, err)
  if (reply.status === 'interrupted') {
    const kept = message === null ? '' : `, kept as ${style.id(message)}. Go on: skein -c "…"`
    return [`${style.note(style.symbols.note)} stopped after ${duration(tookMs)}${kept}`]
  }
  const lines = [
    receiptLine(
      {
        message,
        model: speaker.model.id,
        usage: reply.usage,
        cost: turnCost(speaker.model.id, reply.usage),
        context: context && { used: context.used, window: speaker.window },
      },
      err,
    ),
  ]
  if (reply.stop === 'length') lines.push(note('the answer is cut off: the model may not say more at once'))
  if (reply.stop === 'filtered') lines.push(note('the provider held back a part of the answer'))
  if (reply.stop === 'steps') lines.push(note('stopped: too many steps for one turn. Go on: skein -c "…"'))
  if (!reply.saved) lines.push(note('not everything could be saved: copy what you need'))
  if (answered.movedAside && reply.branch)
    lines.push(note(`the branch moved on meanwhile. Yours is kept: skein -c ${reply.branch.name} "…"`))
  return lines
}

function exitCode({ reply, movedAside }: Answered): number {
  if (reply.status === 'interrupted') return exit.interrupted
  if (!reply.saved) return exit.failure
  return movedAside ? exit.conflict : exit.ok
}

interface Around {
  readonly chosen: Chosen
  readonly speaker: Speaker
  readonly store: (ConversationReader & MessageReader) | null
  readonly world: World
}

async function printJson(answered: Answered, heard: Heard, around: Around): Promise<void> {
  const { chosen, speaker, store, world } = around
  const { reply, context } = answered
  const facts = {
    chosen,
    forked: heard.forked,
    status: reply.status,
    reply,
    model: speaker.model.id,
    window: speaker.window,
    context,
  }
  world.out.line(JSON.stringify(await answerJson(facts, store)))
}

/** The person's words are kept, whatever became of the answer: they are told so. */
async function afterFailure({ branch, forked, text }: Heard, around: Around): Promise<void> {
  const { chosen, speaker, store, world } = around
  if (branch === null && store !== null) return
  if (store && unsavedIn(store).messages.length > 0) return
  const { head } = store && branch ? await store.getBranch(branch) : { head: null }
  if (world.json) {
    const facts = {
      chosen,
      forked,
      status: 'failed',
      reply: { text, usage: {}, branch, head, saved: true },
      model: speaker.model.id,
      window: speaker.window,
      context: null,
    } as const
    world.out.line(JSON.stringify(await answerJson(facts, store)))
  } else if (!world.quiet && store && head !== null) {
    const short = await shortIdIn(store, head)
    world.err.line(noteLine(`your message is kept as ${short}. To ask it again: skein chat`, world.err))
  }
}
