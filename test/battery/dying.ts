import { type Point, prepareDeath } from './death.ts'
import { type OperationName, operations } from './operations.ts'

/** A process that does one thing and dies in it where it was told to. Says how many transactions there were, if it
 *  lives to tell. */
const [target, name, point, n, how] = process.argv.slice(2) as [string, OperationName, Point, string, string]
const death = prepareDeath(point, Number(n), { careless: how === 'careless' })
await operations[name].run(target, death.arm)
process.send!(death.count())
process.disconnect()
