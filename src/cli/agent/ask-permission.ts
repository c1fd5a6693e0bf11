import { setImmediate as shown } from 'node:timers/promises'
import {
  type AskPermission,
  allowPermission,
  type PermissionOption,
  refusePermission,
} from '../../acp/host/permission.ts'
import type { Stroke } from '../chat/input/keyboard.ts'
import type { Chat } from '../chat/state/chat-state.ts'
import { folded } from '../output/cut.ts'

/** Who decides what an agent may do: everything with `--allow`, otherwise the person at the keyboard, and nobody in a pipe. */
export function permissionFor(chat: () => Chat | null, allowsAll: boolean): AskPermission {
  return async (request, signal) => {
    if (allowsAll) return allowPermission(request, signal)
    const { keyboard = null, world } = chat() ?? {}
    if (keyboard === null || !world || request.options.length === 0) return refusePermission(request, signal)
    // What was said before the question is on the screen first.
    await shown()
    const { err } = world
    const { style } = err
    const offered = request.options.slice(0, 9)
    err.line(`${style.note('?')} ${style.safe(folded(request.title))}`)
    const keys = offered.map(({ name }, i) => `${i + 1} ${style.safe(folded(name))}`)
    err.line(`  ${[...keys, 'esc refuses'].join(` ${style.symbols.dot} `)}`)
    const calledOff = new Promise<Stroke>(resolve => {
      signal.addEventListener('abort', () => resolve({ type: 'closed' }), { once: true })
    })
    for (;;) {
      const chosen = choiceBy(await Promise.race([keyboard.nextFresh(), calledOff]), offered)
      if (chosen === 'none') return refusePermission(request, signal)
      if (chosen) return chosen.optionId
    }
  }
}

/** By its number, or y and n for what is allowed or refused once; null for a key that says nothing. */
function choiceBy(stroke: Stroke, offered: readonly PermissionOption[]): PermissionOption | 'none' | null {
  if (stroke.type === 'closed') return 'none'
  if (stroke.type === 'key') return stroke.name === 'escape' ? 'none' : null
  if (stroke.type !== 'text') return null
  const key = stroke.text.toLowerCase()
  const kind = key === 'y' ? 'allow_once' : key === 'n' ? 'reject_once' : null
  if (kind !== null) return offered.find(one => one.kind === kind) ?? null
  return /^[1-9]$/.test(key) ? (offered[Number(key) - 1] ?? null) : null
}
