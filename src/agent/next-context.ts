import { calibrated, uncalibrated } from '../context/fit/calibrate.ts'
import { fit } from '../context/fit/fit.ts'
import { windowOf } from '../context/fit/model-windows.ts'
import { type ReadContext, readHistory } from '../context/read-context.ts'
import type { ContextReader } from '../context/summary/newest-summary.ts'
import type { MessageId } from '../core/ids.ts'
import type { AgentOptions } from './options.ts'
import { shownTo, toolTokens } from './run-steps.ts'
import { readResult, shortenToolResults } from './tools/shorten-tool-results.ts'
import { agentTools, readResultName, specsOf } from './tools/tool.ts'

/** The options of an agent that decide what its model gets. */
export interface NextContextOptions
  extends Pick<
    AgentOptions,
    'system' | 'tools' | 'window' | 'maxOutput' | 'calibration' | 'count' | 'largeResult' | 'speakers'
  > {
  /** The name of the model. */
  readonly model: string
}

/** What the next call of an agent with these options sends at a message, without the next question: the same
 *  messages, the same system prompt and the same tools. Throws ContextLengthError.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { createAgent, nextContext } from 'skein/agent'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * await using agent = createAgent({ store, model: scripted(), system: 'Be brief.' })
 * const { head } = await agent.ask('talk', 'My name is Ada.')
 *
 * const { fitted } = await nextContext(store, head, { model: 'scripted', system: 'Be brief.' })
 * console.log(fitted.messages.length) // 3
 * console.log(fitted.tokens.budget) // 102400
 * ```
 */
export async function nextContext(
  reader: ContextReader,
  head: MessageId | null,
  options: NextContextOptions,
): Promise<ReadContext> {
  const { system = null, tools = {}, largeResult = 8_000, count } = options
  const { limit } = windowOf(options.model)
  const whole = { limit, reserveOutput: options.maxOutput ?? 0, ...options.window }
  const window = calibrated(whole, options.calibration?.current ?? uncalibrated)
  const history = await readHistory(reader, head, whole, { toolResults: 'preview', mark: () => '' })
  const loop = {
    tools: agentTools(tools),
    readResult: { [readResultName]: readResult(null, largeResult) },
    shortenResults: shortenToolResults(largeResult, count),
    speakers: options.speakers ?? false,
  }
  const shown = shownTo(loop, history.messages)
  const pinned = {
    system,
    summary: history.summary,
    older: history.missing,
    overhead: toolTokens(await specsOf(shown.tools)),
  }
  return { ...history, fitted: fit(shown.path, window, pinned) }
}
