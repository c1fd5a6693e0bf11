import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { findBatteries } from './scripts/battery/batteries.ts'

/** The short form of the batteries. They measure memory and time, so each file has a process of its own. `npm
 *  test` leaves them out, `npm run check -- batteries` runs them. */
const batteries = findBatteries(import.meta.dirname).map(({ file }) => file)

/** Tests with a process of their own, which run first: the contracts take longest, and the others change what
 *  belongs to the whole process. */
const alone = [
  'test/support/**/*.test.ts',
  'test/system/**/*.test.ts',
  'test/recorder/drafts.test.ts',
  'test/stores/*/contract.test.ts',
  'test/stores/check/target.test.ts',
  'test/stores/sqlite/files.test.ts',
]

/** The settings of both projects. */
const settings = {
  // Processes, not threads: better-sqlite3 is native, and some tests end their own process.
  pool: 'forks' as const,
  // One more than cores: many tests wait for a process, a lease or a timeout.
  maxWorkers: Math.max(2, availableParallelism()) + 1,
  // Two cores are shared with PostgreSQL: a slow moment is not a failure, a hang still is one.
  testTimeout: 30_000,
  hookTimeout: 30_000,
  unstubEnvs: true,
  unstubGlobals: true,
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Here and not in the linter, which takes every call of our own `fit` for a focused test.
    allowOnly: false,
    maxWorkers: settings.maxWorkers,
    projects: [
      { test: { ...settings, name: 'batteries', include: batteries } },
      { test: { ...settings, name: 'alone', include: alone, exclude: batteries } },
      // A process for each file would take a quarter of the gate to load the same modules again.
      {
        test: {
          ...settings,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...batteries, ...alone],
          isolate: false,
        },
      },
    ],
  },
})
