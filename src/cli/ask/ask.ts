import type { Target } from '../../agent/history/history.ts'
import { turnCost } from '../../api/cost.ts'
import type { BranchRef } from '../../core/branch.ts'
import { type Message, type NewMessage, textOf } from '../../core/message.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import { unsavedIn } from '../../recorder/waiting-turns.ts'
import { type PrintedAnswer, printAnswer } from '../answer/print-answer.ts'
import { createSavingNotes, type SavingNotes } from '../answer/saving-notes.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { untakenText } from '../attach/attached-text.ts'
import { filesIn } from '../attach/message-with.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { noteBelow } from '../command-line/error-report.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { demoLines } from '../model/demo-notes.ts'
import { type ModelSetup, openModelSetup } from '../model/model-setup.ts'
import { type NextSteps, stopNote } from '../output/ending-words.ts'
import { markdownSink } from '../output/markdown-sink.ts'
import { noteLine } from '../output/print.ts'
import { uniqueShortId } from '../output/short-id.ts'
import { formatDuration } from '../output/time.ts'
import { wrapForTerminal } from '../output/wrap.ts'
import { skeinCommand } from '../store/skein-command.ts'
import { newStorePath } from '../store/store-location.ts'
import { type ChosenConversation, chooseConversation } from '../target/choose-conversation.ts'
import { headerLines } from '../target/header-lines.ts'
import { targetFlags } from '../target/target-flags.ts'
import { promptMessage, readPromptParts } from './prompt-message.ts'
import { answerJson, type ReceiptFacts, receiptLine } from './receipt.ts'

/** `skein [prompt…]`: one question, one answer. Without a prompt, on a terminal: `skein chat`. */
export const askCommand: CommandHandler = async (given, context) => {
  const args = withPrompt(given)
  const wishes = targetFlags(args)
  const asked = await readPromptParts(args, context)
  const isBare = asked.prompt.trim() === '' && asked.files.length === 0 && asked.input === null
  // The words after -c may be the prompt.
  if (isBare && !wishes.continueWith) return chatInstead(args, context)
  const keptIn = wishes.incognito ? null : newStorePath(context)
  // Before the store is created: a wrong name or a missing key must leave nothing behind.
  const early = keptIn === null ? null : await openModelSetup(args, context)
  const chosen = await chooseConversation(args, context)
  const setup = early ?? (await openModelSetup(args, context, chosen.status?.conversation))
  const message = promptMessage(asked, chosen.prompt)
  if (message === null) return chatInstead(args, context)
  return askModel({ message, setup, chosen, keptIn, context })
}

/** `--with-context` takes a query only before another argument, or after `=`. Otherwise its argument is the
 *  prompt, and the query too. */
function withPrompt(args: Args): Args {
  const query = textOption(args, 'with-context')
  const isPrompt = query && args.arguments.length === 0 && !args.joined?.has('with-context')
  return isPrompt ? { ...args, arguments: [query], options: { ...args.options, 'with-context': '' } } : args
}

/** Without a prompt, a terminal gets a chat; anything else is a usage error. */
async function chatInstead(args: Args, context: CommandContext): Promise<number> {
  if (!context.stdin.isTTY || context.json || hasOption(args, 'attach'))
    throw new UsageError('there is nothing to ask', 'Ask with skein "…", or pipe the question in')
  const { chatCommand: chat } = await import('../chat/chat.ts')
  return chat(args, context)
}

interface AskRequest {
  readonly message: NewMessage
  readonly setup: ModelSetup
  readonly chosen: ChosenConversation
  readonly keptIn: string | null
  readonly context: CommandContext
}

async function askModel({ message, setup, chosen, keptIn, context }: AskRequest): Promise<number> {
  const { err, out, quiet, json } = context
  const store = chosen.how === 'incognito' ? null : await context.store()
  const target = await chosen.enter(setup, textOf(message))
  const say = (line = '') => {
    if (!quiet && !json) err.line(wrapForTerminal(line, err))
  }
  const gap = () => {
    if (out.isTerminal && err.isTerminal) say()
  }
  if (setup.choice.from === 'nothing' && !quiet && !json)
    for (const line of demoLines(context, { isIncognito: store === null })) say(line)
  for (const line of headerLines(chosen, err, { now: context.now(), keptIn, ...branchOf(target) })) say(line)
  const untaken = untakenText(filesIn(message), setup.model)
  if (untaken !== null) say(noteLine(untaken, err))
  gap()

  await using agent = await setup.agentOn(store)
  const saving = createSavingNotes(store, context)
  const heard: Heard = { branch: null, forked: false, text: '' }
  const run = agent.send(target, message, { onBusy: 'fork', signal: context.signal })
  try {
    const printed = await printAnswer(run, context, {
      model: setup.model.id,
      ...(store ? { readThinking: `${skeinCommand(context)} show --full` } : {}),
      saving,
      ...(out.isTerminal && !json ? { sink: markdownSink(out) } : {}),
      observe: event => {
        if (event.type === 'started') Object.assign(heard, { branch: event.branch, forked: event.forked })
        if (event.type === 'context') heard.text = ''
        if (event.type === 'text') heard.text += event.text
      },
    })
    const answered = await afterWaiting(printed, store, context, saving)
    if (json) await printJson(answered, heard, { chosen, setup, store, context })
    else if (!quiet) {
      gap()
      const fill = await fillAfter(answered, store, setup)
      for (const line of endLines(answered, await shortOf(answered, store), fill, setup, context)) say(line)
    }
    return exitCodeFor(answered)
  } catch (error) {
    // The question may still wait for the store. Its outcome is reported after that.
    await waitUntilSaved(store, context, saving)
    const saved = await afterFailure(heard, { chosen, setup, store, context })
    if (saved !== null) noteBelow(error, saved)
    throw error
  }
}

/** Waits for the store, and returns the answer with the branch and head that it was stored on. */
async function afterWaiting(
  answered: PrintedAnswer,
  store: object | null,
  context: CommandContext,
  saving: SavingNotes,
): Promise<PrintedAnswer> {
  const { reply } = answered
  const isSaved = await waitUntilSaved(store, context, saving)
  if (!reply.whenSaved || !isSaved) return answered
  const { saved, unsaved, branch, head } = await reply.whenSaved
  return { ...answered, reply: { ...reply, saved, unsaved, branch, head } }
}

/** What is known of a run if it fails. */
interface Heard {
  branch: BranchRef | null
  forked: boolean
  text: string
}

function branchOf(target: Target): { readonly branch?: string } {
  return typeof target === 'object' && 'conversationId' in target ? { branch: target.name } : {}
}

/** The shortest unique id of the answer; null without a store. */
async function shortOf(
  { reply }: PrintedAnswer,
  store: Pick<ConversationReader, 'resolve'> | null,
): Promise<string | null> {
  // If the answer is not saved, the head is an earlier message.
  return store && reply.saved && reply.head ? uniqueShortId(store, reply.head) : null
}

/** How full the window is for the next call, as the status line of a chat shows it. */
async function fillAfter(
  { reply, context: facts }: PrintedAnswer,
  store: (ConversationReader & MessageReader) | null,
  setup: ModelSetup,
): Promise<ReceiptFacts['context']> {
  if (store === null || reply.branch === null)
    return facts && { used: facts.used + (reply.usage.output ?? 0), limit: facts.budget }
  try {
    const conversation = await store.getConversation(reply.branch.conversationId)
    const { fitted } = await setup.contextAt(store, conversation, reply.head)
    return { used: fitted.tokens.total, limit: fitted.tokens.budget }
  } catch {
    // The answer is on the screen: a receipt without a gauge is better than an error.
    return facts && { used: facts.used, limit: facts.budget }
  }
}

/** The receipt and the notes after it. */
function endLines(
  answered: PrintedAnswer,
  message: string | null,
  fill: ReceiptFacts['context'],
  setup: ModelSetup,
  context: CommandContext,
): readonly string[] {
  const { err } = context
  const { reply, tookMs } = answered
  const { style } = err
  const note = (text: string) => noteLine(text, err)
  if (reply.status === 'interrupted') {
    const continued = () => `. Continue: ${skeinCommand(context)} -c ${message} "…"`
    const kept = message === null ? '' : `, saved as ${style.id(message)}${continued()}`
    return [`${style.note(style.symbols.note)} stopped after ${formatDuration(tookMs)}${kept}`]
  }
  const lines = [
    receiptLine(
      {
        message,
        isUnsaved: !reply.saved,
        model: setup.model.id,
        usage: reply.usage,
        cost: turnCost(setup.model.id, reply.usage),
        context: fill,
      },
      err,
    ),
  ]
  const stopped = stopNote(reply, stepsAfter(message, context))
  if (stopped !== null) lines.push(note(stopped))
  // Messages that waited were reported while the command waited for them.
  if (!reply.saved && !reply.whenSaved) lines.push(note('not everything could be saved: copy what you need'))
  if (answered.movedAside && reply.branch)
    lines.push(
      note(
        `the branch moved on meanwhile. Yours is kept: ${skeinCommand(context)} -c ${reply.branch.name} "…"`,
      ),
    )
  return lines
}

/** How to continue after this answer. Without a store, there is nothing to continue. */
function stepsAfter(message: string | null, context: CommandContext): NextSteps {
  if (message === null)
    return { rest: 'not kept, so ask again', another: 'Ask it another way, or another model with -m' }
  const target = `${skeinCommand(context)} -c ${message}`
  return {
    rest: `${target} "continue"`,
    another: `Ask it another way: ${target} "…", or another model with -m`,
  }
}

function exitCodeFor({ reply, movedAside }: PrintedAnswer): number {
  if (reply.status === 'interrupted') return exitCode.interrupted
  if (!reply.saved) return exitCode.failure
  return movedAside ? exitCode.conflict : exitCode.ok
}

interface AnswerContext {
  readonly chosen: ChosenConversation
  readonly setup: ModelSetup
  readonly store: (ConversationReader & MessageReader) | null
  readonly context: CommandContext
}

async function printJson(answered: PrintedAnswer, heard: Heard, around: AnswerContext): Promise<void> {
  const { chosen, setup, store, context } = around
  const { reply } = answered
  const facts = {
    chosen,
    forked: heard.forked,
    status: reply.status,
    stop: reply.stop,
    reply,
    model: setup.model.id,
    window: setup.window,
    context: answered.context,
  }
  context.out.line(JSON.stringify(await answerJson(facts, store)))
}

/** What is stored although the answer failed, in words; null if that is nothing, or was printed as JSON. */
async function afterFailure({ branch, forked, text }: Heard, around: AnswerContext): Promise<string | null> {
  const { chosen, setup, store, context } = around
  if (branch === null && store !== null) return null
  if (store && unsavedIn(store).messages.length > 0) return null
  const { head } = store && branch ? await store.getBranch(branch) : { head: null }
  if (context.json) {
    const facts = {
      chosen,
      forked,
      status: 'failed',
      stop: null,
      reply: { text, usage: {}, branch, head, saved: true },
      model: setup.model.id,
      window: setup.window,
      context: null,
    } as const
    context.out.line(JSON.stringify(await answerJson(facts, store)))
    return null
  }
  if (context.quiet || !store || head === null) return null
  const [last] = await store.getMessages([head], { blobs: 'preview' })
  return failedText(last, await uniqueShortId(store, head), skeinCommand(context))
}

/** What a failed turn has stored, and how to continue. */
function failedText(last: Message | undefined, id: string, command: string): string {
  return last?.role === 'assistant'
    ? `the partial answer is saved as ${id}. Continue: ${command} -c ${id} "continue"`
    : `your message is saved as ${id}. To ask again: ${command} chat, then Enter`
}
