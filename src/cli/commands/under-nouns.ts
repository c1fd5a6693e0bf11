/** The names of a command as a verb of both nouns: `conversation show`, `sessions show`. (`convo` is an alias
 *  of `conversation`.) */
export function underNouns(...verbs: readonly string[]): readonly string[] {
  return ['conversation', 'sessions'].flatMap(noun => verbs.map(verb => `${noun} ${verb}`))
}
