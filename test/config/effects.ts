/** The test that proves the effect of a setting, from the file to the request, the store or the process. */
export interface SettingEffect {
  /** Below `test/`. */
  readonly file: string
  /** A part of the name of the test. */
  readonly test: string
}

const at = (file: string, test: string): SettingEffect => ({ file, test })

const model = 'cli/settings/model-settings.test.ts'
const program = 'cli/settings/program-settings.test.ts'
const surface = 'cli/settings/surface-settings.test.ts'

const ofModels = at(model, 'have an effect each: model, options.*')
const ofProviders = at(model, 'reach the provider, a stored key wins')
const prices = at(model, 'have a price for written cache tokens')
const mcpProgram = at(program, 'start an MCP server: mcp.<name>.command')
const mcpAddress = at(program, 'reach an MCP server at an address')
const agentProgram = at(program, 'start an agent by its name')
const agentOptions = at(program, 'set the options of an agent')
const ownAgent = at(program, 'make an agent of ours')
const subagent = at(program, 'make a subagent')
const service = at(surface, 'listen, public_url, hosts, max_turns and log_level')
const bot = at(surface, 'token, allow.channels, allow.people')
const botOfServer = at(surface, 'allow.servers and system')

/** Every setting of `skein.yaml`, as `settingPaths` names it. A setting without an entry fails
 *  `effects.test.ts`: a setting that is accepted and has no effect is a promise that is not kept. */
export const settingEffects: Readonly<Record<string, SettingEffect>> = {
  model: ofModels,
  'providers.<name>.key': ofProviders,
  'providers.<name>.base_url': ofProviders,
  'models.<name>.model': ofModels,
  'models.<name>.window': at('cli/model/sent-context.test.ts', 'has the window of an unknown model'),
  'models.<name>.temperature': ofModels,
  'models.<name>.top_p': ofModels,
  'models.<name>.max_output': ofModels,
  'models.<name>.seed': ofModels,
  'models.<name>.stop': ofModels,
  'models.<name>.provider_options': ofModels,
  'models.<name>.price': prices,
  'models.<name>.price.input': prices,
  'models.<name>.price.output': prices,
  'models.<name>.price.cache_read': prices,
  'models.<name>.price.cache_write': prices,
  'options.temperature': ofModels,
  'options.top_p': ofModels,
  'options.max_output': ofModels,
  'options.seed': ofModels,
  'options.stop': ofModels,
  'options.provider_options': ofModels,
  'conversation.session_expiration': at(
    'cli/dispatch/dispatch.test.ts',
    'takes the expiry of the configuration',
  ),
  'conversation.expiration_from': at(
    'cli/dispatch/dispatch.test.ts',
    'takes the expiry of the configuration',
  ),
  'conversation.cleanup_interval': at(surface, 'is how often skein serve sweeps'),
  'conversation.archive': at(
    'cli/transfer/archive.test.ts',
    'gets expired conversations before they are moved',
  ),
  'conversation.token_strategy': at('cli/context-settings.test.ts', 'token_strategy summarises all but'),
  'conversation.max_tokens': at('cli/context-settings.test.ts', 'max_tokens caps the context'),
  'conversation.keep_recent_messages': at(
    'cli/context-settings.test.ts',
    'token_strategy summarises all but',
  ),
  'conversation.max_messages': at('cli/model/sent-context.test.ts', 'follows conversation.%s of skein.yaml'),
  'conversation.max_age': at('cli/forgetting-settings.test.ts', 'max_age leaves out exchanges'),
  'conversation.load_limit': at('cli/forgetting-settings.test.ts', 'load_limit caps the messages'),
  'conversation.tool_results': at('cli/context-settings.test.ts', 'tool_results is the policy'),
  'channels.<name>.expiration': at('cli/forgetting-settings.test.ts', 'expiration is the expiry of new'),
  'projects.<name>.conversations': at(
    'cli/dispatch/dispatch.test.ts',
    'stores no conversation for a project',
  ),
  'mcp.<name>.command': mcpProgram,
  'mcp.<name>.args': mcpProgram,
  'mcp.<name>.env': mcpProgram,
  'mcp.<name>.cwd': mcpProgram,
  'mcp.<name>.url': mcpAddress,
  'mcp.<name>.headers': mcpAddress,
  'agents.<name>.description': ownAgent,
  'agents.<name>.command': agentProgram,
  'agents.<name>.args': agentProgram,
  'agents.<name>.env': agentProgram,
  'agents.<name>.cwd': agentProgram,
  'agents.<name>.mode': agentOptions,
  'agents.<name>.model': agentOptions,
  'agents.<name>.set': agentOptions,
  'agents.<name>.system': ownAgent,
  'agents.<name>.tools': ownAgent,
  'acp.tell': at('acp/proxy/hand-over.test.ts', 'is that of --tell, else of acp.tell'),
  'acp.summarize': at(surface, 'summarizes a long conversation for the next agent'),
  'acp.recall': at('acp/proxy/recall.test.ts', 'unless acp.recall is off'),
  'tools.recall': at('cli/ask/tools.test.ts', 'let the model search and read earlier conversations'),
  'tools.allow': at('cli/approval/person-approval.test.ts', 'runs if the user’s own file allows it'),
  'tools.ask': at('cli/approval/approvals.test.ts', 'lists the calls that wait in a service'),
  'subagents.<name>.description': subagent,
  'subagents.<name>.model': subagent,
  'subagents.<name>.system': subagent,
  'server.listen': service,
  'server.public_url': service,
  'server.hosts': service,
  'server.max_turns': service,
  'server.log_level': service,
  'discord.token': bot,
  'discord.allow': bot,
  'discord.thread_context': bot,
  'discord.on_delete': bot,
  'discord.max_agents': bot,
  'discord.system': botOfServer,
  'discord.allow.servers': botOfServer,
  'discord.allow.channels': bot,
  'discord.allow.people': bot,
}
