import { allowTools } from '../../agent/approval/approval.ts'
import type { Task } from '../../core/task.ts'
import type { DispatcherOptions } from '../../dispatch/dispatcher-options.ts'
import { submitTaskTool } from '../../dispatch/submit-task-tool.ts'
import type { WorkerOptions } from '../../dispatch/worker.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { demoNote } from '../model/choose-model.ts'
import { configuredTools, type ToolFilter } from '../model/configured-tools.ts'
import { callOptions } from '../model/model-settings.ts'
import { agentSettings, openModelSetup } from '../model/model-setup.ts'
import { noteLine } from '../output/print.ts'
import { withArchive } from '../transfer/archive.ts'
import { durationOf } from './dispatch-options.ts'

/** The options of a dispatcher by the flags and the configuration, and a function that stops the tools. */
export interface ConfiguredDispatch {
  readonly options: DispatcherOptions
  /** How a worker cleans up. */
  readonly cleanUp: NonNullable<WorkerOptions['cleanUp']>
  close(): Promise<void>
}

/** Opens the model before the store is used: a missing key must not fail every task. `mayRun` leaves out
 *  tools. Default: all may run. */
export async function configuredDispatch(
  args: Args,
  context: CommandContext,
  mayRun?: ToolFilter,
): Promise<ConfiguredDispatch> {
  const { model, config, choice } = await openModelSetup(args, context)
  if (choice.from === 'nothing' && !context.quiet && !context.json)
    context.err.line(noteLine(demoNote, context.err))
  const store = await context.store()
  const opened = await configuredTools(config, context)
  const tools = await opened.on(store, model, mayRun)
  const system = textOption(args, 'system')
  const timeout = textOption(args, 'timeout')
  const { sessionExpirationMs, expirationFrom } = config.conversation
  const agentFor = (task: Task) => ({
    id: 'skein',
    model,
    ...agentSettings(config, model.id, callOptions(args)),
    ...(system === undefined ? {} : { system }),
    // No person is there to ask.
    approve: allowTools(config.tools.allow),
    tools: { ...tools, submit_task: submitTaskTool({ tasks: store, parent: task }) },
  })
  return {
    options: {
      store,
      tasks: store,
      agentFor,
      expiry: { afterMs: sessionExpirationMs, from: expirationFrom },
      storesConversations: project => project === null || (config.projects[project]?.conversations ?? true),
      ...(timeout === undefined ? {} : { timeoutMs: durationOf('timeout', timeout) }),
    },
    cleanUp: { store: withArchive(store, config, context), everyMs: config.conversation.cleanupIntervalMs },
    close: () => opened.close(),
  }
}
