/**
 * What a driver or an application needs in its own tests. `contract` is the acceptance suite of every store
 * driver, as data; `runCase` runs one of its cases on a fresh store under any test runner.
 */

// Start with `contract/contract-case.ts` (what a case is), then one area, such as `contract/append.ts`.
// `contract/index.ts` lists all areas. Imports core only, so a driver outside this repository can run the
// same cases. Only tests import this folder; test/stores/contract.ts runs it on both drivers.

export type { Source } from '../core/source.ts'
export type { CaseContext, ContractCase, ContractSubject, OpenedStore } from './contract/contract-case.ts'
export { contract } from './contract/index.ts'
export { runCase } from './contract/run-case.ts'
