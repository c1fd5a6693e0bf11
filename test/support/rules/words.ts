import type { Rule } from './source.ts'

/** Files that deal with sessions of other programs. */
const allowed = [
  ...[
    /^acp\//,
    /^adapters\//,
    /^formats\//,
    /^config\//,
    /^(api|api\/schema|server)\/compat(\.test)?\.ts$/,
    /^bench\/(rows\/acp|acp-agent)\.ts$/,
  ],
  /^scripts\/agents\//,
  // Fields of Discord's gateway.
  /^support\/discord\//,
  // The name of a mode of connection poolers.
  /^stores\/postgres\/(errors|refusals\.test)\.ts$/,
]

/** These files are about the word itself, or list names of other files. */
const aboutTheWord = [
  'test/architecture.test.ts',
  'test/support/rules/words.ts',
  'test/support/rules/known.ts',
  'test/support/rules/whole-lists.ts',
]

/** What users type: a flag, its name in quotes, its declaration, and the noun of the origin documents. */
const typed = /--[a-z-]*session[a-z-]*|['"`]sessions?(?: \w+)?\\?['"`]|skein sessions\b|\bsession: /g

/** A message and a setting whose wording the origin documents fix (S2-23, S2-46). */
const ofOrigin = /failed to create conversation session|session_?expiration(ms)?/gi

/** The word "session" occurs only where the vocabulary allows it, and in the names of flags. */
export const foreignWord: Rule = files =>
  files
    .filter(({ path }) => !aboutTheWord.includes(path))
    .filter(({ path }) => !allowed.some(place => place.test(path.replace(/^(src|test)\//, ''))))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const rest = /^(src|test|scripts\/docs)\/cli[/.]/.test(path) ? line.replaceAll(typed, '') : line
        return /session/i.test(rest.replaceAll(ofOrigin, ''))
          ? [`${path}:${index + 1}: says "session": ${line.trim()}`]
          : []
      }),
    )
