import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Starts a server of `bench/http-server.ts` in a process of its own. */
export async function startServer(
  name: 'floor' | 'ours',
  target: string,
  durability: 'full' | 'normal' = 'normal',
) {
  const script = join(import.meta.dirname, '../http-server.ts')
  const child = spawn(process.execPath, [script, name, target, durability], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = await once(createInterface({ input: child.stdout }), 'line')
  return { port: Number(port), child, [Symbol.dispose]: () => void child.kill() }
}
