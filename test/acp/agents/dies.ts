import { parseArgs } from 'node:util'
import { createAgent, type Traits } from './kit.ts'
import { inProcess, onDisk } from './memory.ts'
import { canLoad, canResume } from './reopening.ts'

/** Its process ends in the middle of an answer, when its model says so. `--keeps=nothing` has neither memory
 *  nor capabilities, `--keeps=question` loses the answer, and `--keeps=turns` loses question and answer, but
 *  answers a load with success. */
const { values } = parseArgs({ options: { keeps: { type: 'string', default: 'nothing' } } })
const capabilities = { loadSession: true, sessionCapabilities: { resume: {} } }
const traits: Readonly<Record<string, () => Omit<Traits, 'name'>>> = {
  nothing: () => ({ memory: inProcess() }),
  question: () => ({ memory: onDisk(), capabilities, keeps: 'question first' }),
  turns: () => ({ memory: onDisk(), capabilities, keeps: 'whole turns' }),
}
const chosen = traits[values.keeps]
if (!chosen) throw new Error(`--keeps=${values.keeps}`)
const kit = createAgent({ name: 'dies', ...chosen() })
if (kit.traits.capabilities) {
  canLoad(kit)
  canResume(kit)
}
kit.run()
