import type { ConversationFilter } from '../../core/listing.ts'
import { type Args, hasOption, textOption, textOptions } from '../command-line/command.ts'
import { metadataValue, splitAssignment } from '../command-line/metadata-option.ts'

/** The filter of `skein ls`, without its scope. */
export function listFilter(args: Args): ConversationFilter {
  const text = (name: string) => {
    const value = textOption(args, name)
    return value === undefined ? {} : { [name]: value }
  }
  return {
    ...text('channel'),
    ...text('project'),
    ...text('task'),
    ...text('tag'),
    ...text('title'),
    ...labelFilter(args),
    ...metadataFilter(args),
    ...(hasOption(args, 'trash') ? { trashed: true as const } : {}),
    ...(hasOption(args, 'trash') ? {} : { kind: hasOption(args, 'traces') ? 'subagent' : 'main' }),
  }
}

/** `explorer/7c1e` names a run of a subagent by the beginning of its id, `explorer` all its runs. Their
 *  labels are `subagent:explorer:<run id>`. */
function labelFilter(args: Args): ConversationFilter {
  const label = textOption(args, 'label')
  if (label === undefined) return {}
  if (!hasOption(args, 'traces') || label.startsWith('subagent:')) return { labelPrefix: label }
  const [name, run = ''] = label.split('/', 2)
  return { labelPrefix: `subagent:${name}:${run}` }
}

function metadataFilter(args: Args): ConversationFilter {
  const given = textOptions(args, 'metadata').map(splitAssignment)
  if (given.length === 0) return {}
  return { metadata: Object.fromEntries(given.map(([key, value]) => [key, metadataValue(value)])) }
}

const phrases: readonly (readonly [option: string, words: (value: string) => string])[] = [
  ['title', value => `with ${JSON.stringify(value)} in the title`],
  ['tag', value => `with tag ${value}`],
  ['label', value => `with label ${value}`],
  ['channel', value => `of channel ${value}`],
  ['project', value => `of project ${value}`],
  ['task', value => `of task ${value}`],
]

/** The filters in words, as in `no conversations with tag x here`; '' without filters. */
export function filterWords(args: Args): string {
  const words = phrases.flatMap(([option, say]) => {
    const value = textOption(args, option)
    return value === undefined ? [] : [say(value)]
  })
  for (const value of textOptions(args, 'metadata')) words.push(`with metadata ${value}`)
  return words.join(', ')
}
