import type { Command } from '../command-line/command.ts'

export const serveCommands: readonly Command[] = [
  {
    name: 'serve',
    group: 'Set up',
    summary: 'serve the store over HTTP, for many agents and machines',
    arguments: [],
    options: {
      listen: { value: '<address>', help: 'interface and port; default 127.0.0.1:4717' },
      port: { short: 'p', value: '<n>', help: 'port; 0 chooses a free one' },
      model: { short: 'm', value: '<name>', help: 'model for conversations that keep none' },
      agent: { value: '<name>', help: 'the agent of skein.yaml that the tool ask of /mcp gives tasks to' },
      workers: { value: '<n>', help: 'also do queued tasks, so many at a time; default none' },
      'log-level': { value: '<level>', help: 'debug, info, warn, error or silent; default warn' },
    },
    examples: [
      ['skein serve', 'on this machine only; the first start makes a token'],
      ['skein serve --workers 2', 'and does the tasks that clients submit'],
      ['skein serve --db postgres://db/skein --listen 0.0.0.0', 'for others: set server.public_url first'],
    ],
    load: async () => (await import('../serve/serve.ts')).serveCommand,
  },
  {
    name: 'token',
    group: 'Set up',
    summary: 'create, list and revoke tokens of the HTTP service',
    arguments: [{ name: 'create|ls|revoke' }, { name: 'name', optional: true }],
    options: {
      scope: {
        value: '<scopes>',
        many: true,
        help: 'what it allows: read, write, ask (costs money), admin; default read,write',
      },
      expires: { value: '<duration>', help: 'such as 90d; default never' },
      tenant: { value: '<name>', help: 'whose conversations it opens; PostgreSQL only' },
    },
    examples: [
      ['skein token create ci --scope read --expires 90d', 'prints the token, once'],
      ['skein token ls', 'all tokens, without their secrets'],
      ['skein token revoke 76768fd7-4a00-4b1c-98d5-3780c6234ad0', 'by its id'],
    ],
    load: async () => (await import('../serve/token.ts')).tokenCommand,
  },
]
