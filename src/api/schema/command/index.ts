// The output of `--json`, command by command: the single source of docs/json.md and of the test that compares
// the commands with it. Objects are strict, so a new field must be added here.

import { configShapes } from './config.ts'
import { dispatchShapes } from './dispatch.ts'
import { manageShapes } from './manage.ts'
import { readShapes } from './read.ts'
import { repairShapes } from './repair.ts'
import type { CommandShape } from './shape.ts'
import { transferShapes } from './transfer.ts'

export { failureSchema, withoutJson } from './failure.ts'
export type { CommandShape } from './shape.ts'

/** The output of every command with `--json`, by its name; '' is the prompt. */
export const commandShapes: Readonly<Record<string, readonly CommandShape[]>> = {
  ...readShapes,
  ...manageShapes,
  ...dispatchShapes,
  ...transferShapes,
  ...repairShapes,
  ...configShapes,
}
