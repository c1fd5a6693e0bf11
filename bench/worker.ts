import type { Task } from './process.ts'
import { suites } from './suites.ts'
import { fill } from './world.ts'

/** The entry of a fresh process: does the task that it is given and prints what it measured. */
const { suite, task, args } = JSON.parse(process.argv[2]!) as Task
const tasks = suite === 'world' ? { fill } : suites.find(({ name }) => name === suite)?.tasks
const work = tasks?.[task as keyof typeof tasks] as ((args: object) => Promise<unknown>) | undefined
if (!work) throw new Error(`there is no task ${suite} ${task}`)
process.stdout.write(JSON.stringify(await work(args)))
