import type { RealAgent, World } from './real-agent.ts'

const json = (value: unknown) => JSON.stringify(value, null, 2)

const codexConfig = ({ model }: World) => `model = "fake-model"
model_provider = "fake"
sandbox_mode = "danger-full-access"
approval_policy = "never"
[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
requires_openai_auth = false
`

const codex = (more: Readonly<Record<string, string>> = {}): Pick<RealAgent, 'env' | 'files'> => ({
  env: ({ home }) => ({ CODEX_HOME: `${home}/.codex`, FAKE_KEY: 'dummy', NO_BROWSER: '1', ...more }),
  files: world => ({ '.codex/config.toml': codexConfig(world) }),
})

/** The agents of `npm run agents`. Each runs without an account, with the key `dummy`. */
export const catalogue: readonly RealAgent[] = [
  {
    name: 'opencode',
    packages: ['opencode-ai@1.18.33'],
    command: ['opencode', 'acp'],
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }),
    files: ({ model }) => ({
      '.config/opencode/opencode.json': json({
        provider: {
          fake: {
            npm: '@ai-sdk/openai-compatible',
            name: 'fake',
            options: { baseURL: `${model}/v1`, apiKey: 'dummy' },
            models: { 'fake-model': { name: 'fake-model' } },
          },
        },
        model: 'fake/fake-model',
        small_model: 'fake/fake-model',
      }),
    }),
  },
  {
    name: 'copilot',
    packages: ['@github/copilot@1.0.102'],
    command: ['copilot', '--acp', '--stdio'],
    env: ({ home, model }) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_API_KEY: 'dummy',
      COPILOT_MODEL: 'fake-model',
      COPILOT_HOME: `${home}/.copilot`,
    }),
  },
  {
    name: 'gemini',
    packages: ['@google/gemini-cli@0.61.0'],
    // A named model: otherwise the agent asks another model which one to use.
    command: ['gemini', '--acp', '--skip-trust', '-m', 'gemini-2.5-pro'],
    env: ({ model }) => ({
      GEMINI_API_KEY: 'dummy',
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_CLI_NO_RELAUNCH: 'true',
    }),
    files: () => ({
      '.gemini/settings.json': json({ security: { auth: { selectedType: 'gemini-api-key' } } }),
    }),
    startsWithTheMinute: true,
    note: 'refuses to load a session within the minute of its creation, as this test does; later it works. It sends the editor no output of commands, so there is none to keep',
  },
  {
    name: 'codex',
    packages: ['@agentclientprotocol/codex-acp@2.6.0'],
    command: ['codex-acp'],
    ...codex({ MODEL_PROVIDER: 'fake' }),
  },
  {
    name: 'codex-zed',
    packages: ['@zed-industries/codex-acp@0.16.0'],
    command: ['codex-acp'],
    ...codex(),
  },
  {
    name: 'claude',
    packages: ['@agentclientprotocol/claude-agent-acp@0.99.1'],
    command: ['claude-agent-acp'],
    env: ({ home, model }) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'dummy',
      CLAUDE_CONFIG_DIR: `${home}/.claude`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      IS_SANDBOX: '1',
    }),
  },
  {
    name: 'goose',
    packages: ['@aaif/goose@0.20.1'],
    command: ['goose', 'acp', '--with-builtin', 'developer'],
    env: ({ model }) => ({
      GOOSE_PROVIDER: 'openai',
      GOOSE_MODEL: 'fake-model',
      OPENAI_HOST: model,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_API_KEY: 'dummy',
      GOOSE_DISABLE_KEYRING: '1',
    }),
  },
  {
    name: 'qwen',
    packages: ['@qwen-code/qwen-code@0.24.4'],
    command: ['qwen', '--acp', '--auth-type', 'openai'],
    env: ({ model }) => ({
      OPENAI_API_KEY: 'dummy',
      OPENAI_BASE_URL: `${model}/v1`,
      OPENAI_MODEL: 'fake-model',
    }),
  },
  {
    name: 'kimi',
    packages: ['@moonshot-ai/kimi-code@2.1.0'],
    command: ['kimi', 'acp'],
    env: ({ home }) => ({ KIMI_CODE_HOME: `${home}/.kimi-code` }),
    files: ({ model }) => ({
      '.kimi-code/config.toml': `default_model = "fake"
[providers.fake]
type = "openai"
base_url = "${model}/v1"
api_key = "dummy"
[models.fake]
provider = "fake"
model = "fake-model"
max_context_size = 100000
`,
    }),
  },
  {
    name: 'cline',
    packages: ['cline@3.0.65'],
    command: ['cline', '--acp'],
    env: () => ({
      CLINE_PROVIDER: 'openai-compatible',
      CLINE_API_KEY: 'dummy',
      CLINE_MODEL: 'fake-model',
    }),
    firstRun: ({ model }) => {
      const provider = ['-p', 'openai-compatible', '-k', 'dummy', '-m', 'fake-model', '-b', `${model}/v1`]
      return ['cline', 'auth', ...provider]
    },
  },
  {
    name: 'pi',
    packages: ['pi-acp@0.0.34', '@earendil-works/pi-coding-agent@0.85.0'],
    command: ['pi-acp'],
    env: () => ({ PI_OFFLINE: '1' }),
    files: ({ model }) => ({
      '.pi/agent/models.json': json({
        providers: {
          fake: {
            baseUrl: `${model}/v1`,
            api: 'openai-completions',
            apiKey: 'dummy',
            models: [{ id: 'fake-model' }],
          },
        },
      }),
      '.pi/agent/settings.json': json({ defaultProvider: 'fake', defaultModel: 'fake-model' }),
    }),
  },
]
