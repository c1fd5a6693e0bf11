import type { Config, ValueSource } from '../../config/config.ts'
import { shownPath } from '../../config/read-config.ts'
import { conversationSettings } from '../../config/sections.ts'
import type { World } from '../command-line/command-context.ts'

/** A setting as it counts now. */
export interface Setting {
  /** As in the file: `conversation.max_tokens`. */
  readonly path: string
  readonly value: string | number | boolean | null
  readonly source: string
}

/** All settings, with what each comes from. Of programs and servers only the command and the address are shown: their
 *  arguments, variables and headers are where people put secrets. */
export function settingsOf(config: Config, world: Pick<World, 'cwd' | 'env'>): readonly Setting[] {
  const { model, models, conversation, channels, projects, mcp, agents } = config
  const settings: [path: string, value: Setting['value'], sourcePath?: string][] = [['model', model]]
  for (const [name, id] of Object.entries(models)) settings.push([`models.${name}`, id])
  for (const { field, name } of conversationSettings) {
    const value = conversation[field]
    settings.push([
      `conversation.${name}`,
      field.endsWith('Ms') ? durationText(value as number | null) : value,
    ])
  }
  for (const [name, { expirationMs }] of Object.entries(channels)) {
    settings.push([`channels.${name}.expiration`, durationText(expirationMs), `channels.${name}`])
  }
  for (const [name, { conversations }] of Object.entries(projects)) {
    settings.push([`projects.${name}.conversations`, conversations ? 'on' : 'off', `projects.${name}`])
  }
  for (const [name, server] of Object.entries(mcp)) {
    settings.push([`mcp.${name}`, 'url' in server ? withoutSecrets(server.url) : server.command])
  }
  for (const [name, { command }] of Object.entries(agents)) settings.push([`agents.${name}`, command])
  return settings.map(([path, value, from]) => {
    return { path, value, source: sourceText(config.sources[from ?? path] ?? { kind: 'default' }, world) }
  })
}

export function sourceText(source: ValueSource, { cwd, env }: Pick<World, 'cwd' | 'env'>): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'environment':
      return source.variable
    case 'file':
      return `${shownPath(source.file, cwd, env)}:${source.line}`
  }
}

/** As one would write it: the largest unit that leaves no rest. */
function durationText(ms: number | null): string | null {
  if (ms === null) return null
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const
  const unit = units.find(([, size]) => ms % size === 0)
  // A day and less is said in hours, as the documents do.
  if (unit?.[0] === 'd' && ms <= 86_400_000) return `${ms / 3_600_000}h`
  return unit ? `${ms / unit[1]}${unit[0]}` : `${ms}ms`
}

function withoutSecrets(address: string): string {
  const url = new URL(address)
  return `${url.protocol}//${url.host}${url.pathname}`
}
