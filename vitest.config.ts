import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Processes, not threads: better-sqlite3 is native, and some tests end their own process.
    pool: 'forks',
    // Here and not in the linter, which takes every call of our own `fit` for a focused test.
    allowOnly: false,
    // One more than cores: many tests wait for a process, a lease or a timeout.
    maxWorkers: Math.max(2, availableParallelism()) + 1,
    // Two cores are shared with PostgreSQL: a slow moment is not a failure, a hang still is one.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    unstubEnvs: true,
  },
})
