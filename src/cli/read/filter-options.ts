import { metadataValue } from '../../api/metadata-value.ts'
import type { SearchFilter } from '../../core/listing.ts'
import { type Args, textOption, textOptions } from '../command-line/command.ts'
import { splitAssignment } from '../command-line/metadata-option.ts'

/** The filters that `skein ls` and `skein search` share. `label` is read apart: `ls --traces` gives it
 *  another meaning. */
export function filterOptions(args: Args): SearchFilter {
  const text = (name: string, as = name) => {
    const value = textOption(args, name)
    return value === undefined ? {} : { [as]: value }
  }
  const metadata = textOptions(args, 'metadata').map(text => splitAssignment(text))
  return {
    ...text('key', 'keyPrefix'),
    ...text('tag'),
    ...text('channel'),
    ...text('project'),
    ...(metadata.length > 0 && {
      metadata: Object.fromEntries(metadata.map(([key, value]) => [key, metadataValue(value)])),
    }),
  }
}
