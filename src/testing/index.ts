/**
 * `skein/testing`: what a driver or an application needs in its own tests.
 *
 * `contract` is the acceptance suite of every store driver, as data. `runCase` runs one of its cases on a
 * fresh store under any test runner. This folder imports `core` only, so a driver outside this repository
 * can run the same cases.
 */
export type { CaseContext, ContractCase, ContractSubject, OpenedStore } from './contract/contract-case.ts'
export { contract } from './contract/index.ts'
export { runCase } from './contract/run-case.ts'
