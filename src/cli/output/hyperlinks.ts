type Env = Readonly<Record<string, string | undefined>>

/** Programs that are known to open OSC 8 hyperlinks, by `TERM_PROGRAM`. */
const programs = new Set(['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'rio', 'Hyper', 'WarpTerminal'])

/** Terminals, by `TERM`. */
const terms = /^(xterm-kitty|xterm-ghostty|alacritty|foot|contour|wezterm)/

/** Whether the terminal opens hyperlinks. Unknown ones show the sequence as text, so the answer is then no.
 *  `FORCE_HYPERLINK` decides where it is set, as in other programs. tmux and screen may drop links. */
export function hasHyperlinks(env: Env): boolean {
  if (env.FORCE_HYPERLINK) return env.FORCE_HYPERLINK !== '0'
  if (env.TMUX || env.STY) return false
  if (env.TERM_PROGRAM && programs.has(env.TERM_PROGRAM)) return true
  if (env.KONSOLE_VERSION || env.DOMTERM) return true
  if (Number(env.VTE_VERSION ?? 0) >= 5_000) return true
  return terms.test(env.TERM ?? '')
}
