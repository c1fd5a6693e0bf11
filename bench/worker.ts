import { createInterface } from 'node:readline'
import type { Task } from './process.ts'
import { suites } from './suites.ts'
import { fill } from './world.ts'

/** The entry of a fresh process: runs its task and prints a line for each answer. A task with steps runs one
 *  step per input line, and so alternates with the other contenders. */

type Work = (args: object) => Promise<unknown> | AsyncGenerator<unknown>

const { suite, task, args } = JSON.parse(process.argv[2]!) as Task
const tasks = suite === 'world' ? { fill } : suites.find(({ name }) => name === suite)?.tasks
const work = tasks?.[task as keyof typeof tasks] as Work | undefined
if (!work) throw new Error(`there is no task ${suite} ${task}`)

const doing = work(args)
if (Symbol.asyncIterator in doing) {
  const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  for (let done = false; !done && !(await orders.next()).done; ) {
    const step = await doing.next()
    done = step.done === true
    console.log(JSON.stringify(done ? null : step.value))
  }
} else {
  console.log(JSON.stringify(await doing))
}
process.exit()
