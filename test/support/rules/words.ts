import type { Rule } from './source.ts'

/** Where other people's sessions are met, and may be called so. */
const allowed = [
  ...[
    /^acp\//,
    /^adapters\//,
    /^formats\//,
    /^config\//,
    /^server\/compat(\.test)?\.ts$/,
    /^bench\/(rows\/acp|acp-agent)\.ts$/,
  ],
  /^scripts\/agents\//,
]

/** These two speak about the word itself. */
const speakingOfIt = ['test/architecture.test.ts', 'test/support/rules/words.ts']

/** What people type: a flag, its name in quotes, its declaration, and the noun of the origin documents. */
const typed = /--[a-z-]*session[a-z-]*|['"`]sessions?(?: \w+)?['"`]|\bsession: /g

/** The word "session" stands only where the vocabulary allows it, and in the names of flags. */
export const foreignWord: Rule = files =>
  files
    .filter(({ path }) => !speakingOfIt.includes(path))
    .filter(({ path }) => !allowed.some(place => place.test(path.replace(/^(src|test)\//, ''))))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const rest = /^(src|test)\/cli\//.test(path) ? line.replaceAll(typed, '') : line
        return /session/i.test(rest) ? [`${path}:${index + 1}: says "session": ${line.trim()}`] : []
      }),
    )
