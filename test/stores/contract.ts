import { describe, it } from 'vitest'
import { type ContractSubject, contract, runCase } from '../../src/testing/index.ts'

/** Runs the whole contract on a driver: a test for each case, grouped by area. */
export function describeContract(subject: ContractSubject): void {
  for (const area of new Set(contract.map(one => one.area))) {
    describe(`${subject.name}: ${area}`, () => {
      for (const one of contract.filter(candidate => candidate.area === area)) {
        it(one.name, async context => {
          const impossible = await runCase(subject, one)
          if (impossible !== null) context.skip(impossible)
        })
      }
    })
  }
}
