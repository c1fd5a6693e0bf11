import { MisconfiguredError } from '../../core/errors.ts'

/** The error for a token that Discord refuses. */
export function invalidToken(): MisconfiguredError {
  return new MisconfiguredError('login', 'Discord refuses the token', {
    hint: 'Copy it again from the page Bot of https://discord.com/developers/applications, into DISCORD_TOKEN',
  })
}

/** The documented close codes after which a client may not reconnect, in words. After every other code the
 *  client reconnects and resumes. */
const refusals: Readonly<Record<number, () => MisconfiguredError>> = {
  4004: invalidToken,
  4010: () => new MisconfiguredError('login', 'Discord refuses the shard (4010)'),
  4011: () =>
    new MisconfiguredError('login', 'the bot is in too many servers for one connection (4011)', {
      hint: 'skein discord does not shard: leave some servers',
    }),
  4012: () =>
    new MisconfiguredError('package', 'Discord does not support this version of its API any more (4012)', {
      hint: 'npm install discord.js@14',
    }),
  4013: () =>
    new MisconfiguredError('package', 'Discord does not know the intents (4013)', {
      hint: 'npm install discord.js@14',
    }),
  4014: () =>
    new MisconfiguredError(
      'permission',
      'the bot may not read messages: the Message Content intent is off (4014)',
      {
        hint: 'Turn it on: https://discord.com/developers/applications, page Bot. Then skein discord --check',
      },
    ),
}

/** The error for a close code after which Discord does not let the bot reconnect. */
export function closeProblem(code: number): MisconfiguredError {
  return (
    refusals[code]?.() ??
    new MisconfiguredError('login', `Discord has closed the connection for good (${code})`)
  )
}
