import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { playStory, textOf } from './recording/story.ts'
import { svgOf } from './recording/svg.ts'

/** Plays the story of the README in real terminals and writes the recording to docs/. */

const docs = join(import.meta.dirname, '../docs')
const scenes = await playStory()
writeFileSync(join(docs, 'recording.svg'), svgOf(scenes))
writeFileSync(join(docs, 'recording.md'), textOf(scenes))
console.log('wrote docs/recording.svg and docs/recording.md')
