import type { Command } from '../command-line/command.ts'

const project = { value: '<id>', help: 'only tasks of this project' } as const
const model = {
  model: { short: 'm', value: '<name>', help: 'model: provider/name or an alias of skein.yaml' },
  system: { value: '<text>', help: 'system prompt of the agent' },
  option: { short: 'o', value: '<name=value>', many: true, help: 'option of the model: -o temperature=0.7' },
} as const

export const dispatchCommands: readonly Command[] = [
  {
    name: 'dispatch ls',
    aliases: ['dispatch', 'dispatch list'],
    group: 'Look',
    summary: 'list tasks: work items with one conversation each',
    arguments: [],
    options: {
      project,
      status: { value: '<state>', help: 'queued, running, done, failed or cancelled' },
      'newer-than': { value: '<time>', help: 'submitted within this time: 2h' },
      'older-than': { value: '<time>', help: 'submitted before that: 7d' },
      limit: { short: 'l', value: '<n>', help: 'most tasks; default 20' },
      watch: { help: 'print the list again when it changes, until Ctrl+C' },
    },
    examples: [
      ['skein dispatch ls', 'the newest tasks'],
      ['skein dispatch ls --status failed --newer-than 1d', 'what failed today?'],
      ['skein dispatch ls --project web --watch', 'follow the tasks of a project'],
    ],
    load: async () => (await import('../dispatch/ls.ts')).dispatchListCommand,
  },
  {
    name: 'dispatch submit',
    group: 'Keep',
    summary: 'submit a task, which a worker does',
    arguments: [{ name: 'description', optional: true, many: true }],
    options: {
      project: { value: '<id>', help: 'the project that it belongs to' },
      id: { value: '<id>', help: 'its id; default T- and a number' },
      context: { value: '<text>', help: 'more about it, for its first message' },
      parent: { value: '<id>', help: 'the task that it comes from' },
      metadata: { value: '<key=value>', many: true, help: 'a metadata field; may be repeated' },
    },
    examples: [
      ['skein dispatch submit --project web "Find out why the login test is flaky"', 'prints its id'],
      ['skein dispatch submit --id GW-12 < task.txt', 'with an id of your own, from a file'],
    ],
    load: async () => (await import('../dispatch/task-commands.ts')).submitCommand,
  },
  {
    name: 'dispatch work',
    group: 'Talk',
    summary: 'take tasks from the queue and do them',
    arguments: [],
    options: {
      workers: { value: '<n>', help: 'how many at the same time; default 1' },
      project: { value: '<id>', many: true, help: 'only tasks of this project; may be repeated' },
      name: { value: '<name>', help: 'its name in results; default host and process' },
      'until-idle': { help: 'end when the queue is empty' },
      timeout: { value: '<time>', help: 'longest time for one task; default 1h' },
      metrics: { value: '<address>', help: 'serve figures for Prometheus: 127.0.0.1:9464' },
      ...model,
    },
    examples: [
      ['skein dispatch work --workers 4', 'until Ctrl+C: the first one finishes, the second hands back'],
      ['skein dispatch work --until-idle -m sonnet', 'do everything that is queued'],
    ],
    load: async () => (await import('../dispatch/work.ts')).workCommand,
  },
  {
    name: 'dispatch show',
    group: 'Look',
    summary: 'show a task: its state, attempts, worker, conversation and result',
    arguments: [{ name: 'task' }],
    options: {},
    examples: [
      ['skein dispatch show T-1', 'the task and its dispatches'],
      ['skein show task:T-1', 'its conversation'],
    ],
    load: async () => (await import('../dispatch/task-commands.ts')).dispatchShowCommand,
  },
  {
    name: 'dispatch run',
    group: 'Talk',
    summary: 'do a task here and now, or continue it with more words',
    arguments: [{ name: 'task' }, { name: 'words', optional: true, many: true }],
    options: {
      'no-wait': { help: 'fail if the task is busy, instead of waiting' },
      timeout: { value: '<time>', help: 'longest time; default 1h' },
      ...model,
    },
    examples: [
      ['skein dispatch run T-1', 'do what is queued'],
      ['skein dispatch run T-1 "Continue the investigation"', 'in the same conversation, with all it knows'],
    ],
    load: async () => (await import('../dispatch/work.ts')).dispatchRunCommand,
  },
  {
    name: 'dispatch retry',
    group: 'Keep',
    summary: 'queue a failed or cancelled task again; its turn continues',
    arguments: [{ name: 'task', many: true }],
    options: {},
    examples: [
      ['skein dispatch retry T-1', 'from where it stopped'],
      ['skein dispatch ls --status failed', 'shows what can be retried'],
    ],
    load: async () => (await import('../dispatch/task-commands.ts')).retryCommand,
  },
  {
    name: 'dispatch cancel',
    group: 'Keep',
    summary: 'cancel what is queued of a task, and stop what runs',
    arguments: [{ name: 'task', many: true }],
    options: {},
    examples: [
      ['skein dispatch cancel T-1', 'a running worker stops within seconds'],
      ['skein dispatch retry T-1', 'changes your mind'],
    ],
    load: async () => (await import('../dispatch/task-commands.ts')).cancelCommand,
  },
  {
    name: 'dispatch rm',
    aliases: ['dispatch delete'],
    group: 'Keep',
    summary: 'delete tasks; their conversations go to the trash',
    arguments: [{ name: 'task', optional: true, many: true }],
    options: {
      project: { value: '<id>', help: 'the whole project: its tasks and all its conversations' },
      yes: { short: 'y', help: 'do not ask' },
    },
    examples: [
      ['skein dispatch rm T-1', 'skein restore brings the conversation back, not the task'],
      ['skein dispatch rm --project web', 'asks first'],
    ],
    load: async () => (await import('../dispatch/task-commands.ts')).dispatchRemoveCommand,
  },
]
