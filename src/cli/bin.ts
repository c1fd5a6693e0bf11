#!/usr/bin/env node
// No static imports: on a Node that is too old, this file must still run and report that. No top-level await:
// the bundle is CommonJS, which starts faster.

const needed = 10 // The Node-API version that better-sqlite3 needs: Node 22.14 and newer.

if (Number(process.versions.napi) >= needed) void import('./main.ts').then(({ main }) => main())
else void handOver()

/** A clone of the repository contains its own Node. */
async function handOver(): Promise<void> {
  const { existsSync } = await import('node:fs')
  const { spawnSync } = await import('node:child_process')
  const { join } = await import('node:path')
  const own = join(import.meta.dirname, '../../node_modules/node/bin/node')
  if (existsSync(own)) {
    const { status, signal } = spawnSync(own, process.argv.slice(1), { stdio: 'inherit' })
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = status ?? 1
  } else {
    process.stderr.write(`skein: this is Node ${process.versions.node}. Skein needs Node 22.14 or newer\n`)
    process.exitCode = 1
  }
}
