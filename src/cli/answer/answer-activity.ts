import type { AgentEvent } from '../../agent/run/events.ts'
import { modelName } from '../../core/model-name.ts'
import type { Spinner } from '../output/spinner.ts'
import { retryText } from './answer-notes.ts'

/** Shows with a spinner what a run does between the pieces of its answer: the wait for the model, its
 *  thinking, a pause in the middle of its text, a tool. */
export interface AnswerActivity {
  /** Hides the spinner before an event is printed. Returns for how long the model has thought, in
   *  milliseconds, if this event ends its thinking; otherwise null. */
  before(event: AgentEvent): number | null
  /** Shows what is awaited after an event. */
  after(event: AgentEvent): void
}

/** How long text may pause before the spinner shows it. */
const pauseMs = 2_000

type Phase = 'model' | 'thinking' | 'text' | 'tool' | 'retry' | 'nothing'

export function answerActivity(model: string, spinner: Spinner): AnswerActivity {
  const name = modelName(model)
  let phase: Phase = 'model'
  let tool = ''
  let retry = { text: '', until: 0 }
  /** The beginning of the phase. The wait for the first piece of thinking counts as thinking. */
  let since = performance.now()
  const show = () => {
    if (phase === 'model') spinner.start(name, { since })
    else if (phase === 'thinking') spinner.start('thinking', { since })
    else if (phase === 'tool') spinner.start(tool, { since })
    else if (phase === 'retry') spinner.start(retry.text, { since, delayMs: 0, until: retry.until })
    else if (phase === 'text') spinner.start(`${name} has paused`, { since, delayMs: pauseMs })
  }
  const enter = (next: Phase) => {
    if (phase === 'model' && next === 'thinking') phase = next
    else if (phase !== next || next !== 'thinking') {
      phase = next
      since = performance.now()
    }
  }
  show()

  return {
    before(event) {
      // The spinner runs on between pieces of thinking: hiding it for each piece would make it blink.
      if (event.type === 'thinking' && phase === 'thinking') return null
      spinner.hide()
      return phase === 'thinking' && endsThinking.has(event.type) ? performance.now() - since : null
    },
    after(event) {
      if (event.type === 'thinking' && phase === 'thinking') return
      const next = phaseAfter[event.type]
      if (event.type === 'tool_started') tool = event.name
      if (event.type === 'retrying')
        retry = { text: retryText(event, '{}'), until: performance.now() + event.waitMs }
      if (next !== undefined) enter(next)
      show()
    },
  }
}

/** The phase that an event begins. Other events interrupt no phase. */
const phaseAfter: Readonly<Partial<Record<AgentEvent['type'], Phase>>> = {
  started: 'model',
  context: 'model',
  shrunk: 'model',
  thinking: 'thinking',
  text: 'text',
  tool_started: 'tool',
  tool_ended: 'model',
  retrying: 'retry',
  answered: 'model',
  asking: 'nothing',
  asked: 'model',
  ended: 'nothing',
}

const endsThinking: ReadonlySet<AgentEvent['type']> = new Set(['text', 'tool_started', 'answered', 'ended'])
