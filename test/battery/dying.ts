import { type Point, prepareDeath } from './death.ts'
import { type OperationName, operations } from './operations.ts'

/** A process that performs one operation and dies at the given point of it. Prints the number of transactions
 *  if it survives. */
const [target, name, point, n, how] = process.argv.slice(2) as [string, OperationName, Point, string, string]
const death = prepareDeath(point, Number(n), { careless: how === 'careless' })
await operations[name].run(target, death.arm)
process.send!(death.count())
process.disconnect()
