import { tokenJson } from '../../api/token.ts'
import { parseDuration } from '../../config/duration.ts'
import { type AccessToken, type TokenKeeper, type TokenScope, tokenScopes } from '../../core/access-token.ts'
import { collectPages } from '../../core/pages.ts'
import { type Args, type CommandHandler, textOption, textOptions } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { printJson, printNote } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { hashOfSecret, newSecret } from './token-file.ts'

/** `skein token create|ls|revoke`: the tokens of the HTTP service. A secret is printed once and not
 *  stored. */
export const tokenCommand: CommandHandler = async (args, context) => {
  const [action, name] = args.arguments
  const tenant = textOption(args, 'tenant')
  switch (action) {
    case 'create':
      return withTokens(context, tenant, tokens => create(tokens, name, args, context))
    case 'ls':
    case 'list':
      return withTokens(context, tenant, tokens => list(tokens, context))
    case 'revoke': {
      if (name === undefined) throw new UsageError('revoke needs the id of a token', 'skein token ls')
      return withTokens(context, tenant, tokens => revoke(tokens, name, context))
    }
    default:
      throw new UsageError(`token has no verb ${action}`, 'skein token create, ls or revoke')
  }
}

async function withTokens(
  context: CommandContext,
  tenant: string | undefined,
  work: (tokens: TokenKeeper) => Promise<void>,
): Promise<number> {
  if (tenant === undefined || tenant === 'default') {
    await work(await context.store())
    return exitCode.ok
  }
  const { openStore } = await import('../../stores/open.ts')
  await using store = await openStore(context.location().target, { tenant })
  await work(store)
  return exitCode.ok
}

async function create(
  tokens: TokenKeeper,
  name: string | undefined,
  args: Args,
  context: CommandContext,
): Promise<void> {
  const expiresAt = expiryOf(args, context.now())
  const secret = newSecret()
  const token = await tokens.addToken({
    hash: hashOfSecret(secret),
    name: name ?? 'unnamed',
    scopes: scopesOf(args),
    ...(expiresAt && { expiresAt }),
  })
  if (context.json) return printJson(context, { ...tokenJson(token), token: secret })
  context.out.line(secret)
  const until = token.expiresAt ? `, until ${token.expiresAt.toISOString()}` : ''
  const facts = `${token.id}: ${token.scopes.join(', ')}${until}`
  printNote(context, `${facts}. It is shown only now: skein token revoke ${token.id} takes it back`)
  if (name === undefined) printNote(context, 'it has no name. skein token create <name> gives one')
}

function expiryOf(args: Args, now: number): Date | null {
  const text = textOption(args, 'expires')
  if (text === undefined) return null
  const ms = parseDuration(text)
  if (ms === null || ms <= 0)
    throw new UsageError(`--expires takes a duration, not ${JSON.stringify(text)}`, 'Such as 90d or 12h')
  return new Date(now + ms)
}

function scopesOf(args: Args): readonly TokenScope[] {
  const named = textOptions(args, 'scope').flatMap(text => text.split(','))
  if (named.length === 0) return ['read', 'write']
  for (const scope of named) {
    if (!tokenScopes.some(known => known === scope))
      throw new UsageError(`there is no scope ${JSON.stringify(scope)}`, `Scopes: ${tokenScopes.join(', ')}`)
  }
  return tokenScopes.filter(scope => named.includes(scope))
}

async function list(tokens: TokenKeeper, context: CommandContext): Promise<void> {
  const all = await collectPages(page => tokens.listTokens(page))
  if (context.json) return printJson(context, all.map(tokenJson))
  const { safe } = context.out.style
  const rows = all.map(token => [
    token.id,
    safe(token.name),
    token.scopes.join(','),
    stateOf(token, context.now()),
  ])
  const columns = ['id', 'name', 'scopes', 'state'].map(header => ({ header }))
  for (const line of tableLines(rows, columns, context.out.width)) context.out.line(line)
  if (all.length === 0) printNote(context, 'no tokens. skein token create makes one')
}

function stateOf({ expiresAt, revokedAt }: AccessToken, now: number): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`
  if (!expiresAt) return 'valid'
  return `${expiresAt.getTime() > now ? 'until' : 'expired'} ${expiresAt.toISOString()}`
}

async function revoke(tokens: TokenKeeper, id: string, context: CommandContext): Promise<void> {
  const token = await tokens.revokeToken(id)
  if (context.json) printJson(context, tokenJson(token))
  else printNote(context, `revoked ${token.id} (${token.name}). Running services notice within seconds`)
}
