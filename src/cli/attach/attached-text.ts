import type { MediaBlock } from '../../core/block.ts'
import type { Model } from '../../core/model.ts'
import { modelName } from '../../core/model-name.ts'
import { takesMedia } from '../../models/takes-media.ts'
import { formatBytes } from '../output/number.ts'

/** `shot.png (image, 12 kB)` */
export function attachedText({ name, type, data = '' }: MediaBlock): string {
  const kind = type === 'file' ? '' : `${type}, `
  return `${name ?? type} (${kind}${formatBytes(Buffer.byteLength(data, 'base64'))})`
}

/** Says which files a model does not get, because it does not take their kind; null if it gets all. */
export function untakenText(files: readonly MediaBlock[], { id }: Pick<Model, 'id'>): string | null {
  const untaken = files.filter(({ mime }) => !takesMedia(id, mime))
  if (untaken.length === 0) return null
  const names = untaken.map(({ name, type }) => name ?? type).join(', ')
  const kinds = [...new Set(untaken.map(({ type, mime }) => (type === 'file' ? mime : type)))].join(' or ')
  return `${modelName(id)} does not take ${kinds}: it is told only that ${names} was attached`
}
