import { failuresIn, runConformance, type Verdicts } from '../../test/acp/conformance/run-conformance.ts'
import { openWorld, type WorldOptions } from './world.ts'

/** Runs the published requirements against an agent, alone and behind our proxy. Returns what fails only
 *  behind it. */
export async function compareConformance(
  options: Omit<WorldOptions, 'way'>,
): Promise<Readonly<Record<string, string>>> {
  const alone = await verdictsOf({ ...options, way: 'directly' })
  const behind = await verdictsOf({ ...options, way: 'behind skein acp' })
  const failsAlone = Object.keys(failuresIn(alone))
  const worse = Object.entries(failuresIn(behind)).filter(([id]) => !failsAlone.includes(id))
  return Object.fromEntries(worse)
}

async function verdictsOf(options: WorldOptions): Promise<Verdicts> {
  await using world = await openWorld(options)
  const [command, ...args] = world.command as readonly [string, ...string[]]
  const { cwd, env } = world
  const verdicts = await runConformance({ command, args, cwd, env, slowPrompt: null, quietMs: 1_000 })
  const count = (verdict: string) => Object.values(verdicts).filter(one => one.verdict === verdict).length
  const failed = JSON.stringify(failuresIn(verdicts))
  console.error(
    `${options.agent.name}, ${options.way}: ${count('pass')} pass, ${count('skip')} do not apply, fail: ${failed}`,
  )
  return verdicts
}
