/** How an agent of another program is started, without an entry in `skein.yaml`. */
export interface AgentPreset {
  /** The product, for people. */
  readonly title: string
  /** The program that supports the Agent Client Protocol, and its arguments. */
  readonly command: string
  readonly args: readonly string[]
  /** The npm packages to install. */
  readonly packages: readonly string[]
  /** The product's own program, if `command` is only an adapter for it: if the adapter is not installed,
   *  `npx` starts it. Null if `command` is the product. */
  readonly product: string | null
  /** True if the adapter does not work without the product's program. */
  readonly needsProduct: boolean
}

/** The agents that `npm run agents` tests, by the name after `skein agent`. */
export const agentPresets: Readonly<Record<string, AgentPreset>> = {
  claude: {
    title: 'Claude Code',
    command: 'claude-agent-acp',
    args: [],
    packages: ['@agentclientprotocol/claude-agent-acp'],
    product: 'claude',
    needsProduct: false,
  },
  codex: {
    title: 'Codex',
    command: 'codex-acp',
    args: [],
    packages: ['@agentclientprotocol/codex-acp'],
    product: 'codex',
    needsProduct: false,
  },
  'codex-zed': {
    title: 'Codex (adapter of Zed)',
    // Both adapters have the program codex-acp, so npx tells them apart.
    command: 'npx',
    args: ['-y', '@zed-industries/codex-acp'],
    packages: ['@zed-industries/codex-acp'],
    product: 'codex',
    needsProduct: true,
  },
  copilot: {
    title: 'GitHub Copilot',
    command: 'copilot',
    args: ['--acp', '--stdio'],
    packages: ['@github/copilot'],
    product: null,
    needsProduct: false,
  },
  gemini: {
    title: 'Gemini',
    command: 'gemini',
    args: ['--acp'],
    packages: ['@google/gemini-cli'],
    product: null,
    needsProduct: false,
  },
  opencode: {
    title: 'opencode',
    command: 'opencode',
    args: ['acp'],
    packages: ['opencode-ai'],
    product: null,
    needsProduct: false,
  },
  goose: {
    title: 'goose',
    command: 'goose',
    args: ['acp', '--with-builtin', 'developer'],
    packages: ['@aaif/goose'],
    product: null,
    needsProduct: false,
  },
  qwen: {
    title: 'Qwen Code',
    command: 'qwen',
    args: ['--acp'],
    packages: ['@qwen-code/qwen-code'],
    product: null,
    needsProduct: false,
  },
  kimi: {
    title: 'Kimi',
    command: 'kimi',
    args: ['acp'],
    packages: ['@moonshot-ai/kimi-code'],
    product: null,
    needsProduct: false,
  },
  cline: {
    title: 'Cline',
    command: 'cline',
    args: ['--acp'],
    packages: ['cline'],
    product: null,
    needsProduct: false,
  },
  pi: {
    title: 'pi',
    command: 'pi-acp',
    args: [],
    packages: ['pi-acp', '@earendil-works/pi-coding-agent'],
    product: 'pi',
    needsProduct: true,
  },
}
