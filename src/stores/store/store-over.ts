import { checkFunction, checkMethod } from '../../core/check.ts'
import type { Store } from '../../core/ports.ts'
import type { Engine } from '../engine/engine.ts'
import { keepTasks } from './keep-tasks.ts'
import { manageMethods } from './manage-methods.ts'
import { setMethods, storeWithHub } from './store-with-hub.ts'
import { turnMethods } from './turn-methods.ts'

/** The Store port over an engine of your own: checks the input, then runs the program for the operation.
 *  `schemaVersion` reads the number of the last migration. A call reaches the engine at once: no method is
 *  loaded on demand. */
export function storeOver(engine: Engine, schemaVersion: () => Promise<number>): Store {
  checkMethod(engine, 'engine', 'query', 'an engine (docs/drivers.md)')
  checkFunction(schemaVersion, 'schemaVersion')
  setMethods({ turnMethods, manageMethods, keepTasks })
  return storeWithHub(engine, schemaVersion)
}
