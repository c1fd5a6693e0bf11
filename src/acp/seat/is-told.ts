import { fence } from '../../context/text/guard-lines.ts'
import type { Heard } from '../transcript/heard.ts'

/** Whether what an agent repeats as the user's words is what we told it: nobody said that. Agents repeat it in pieces, or joined
 *  with the words that stood behind it. */
export function isTold(heard: Extract<Heard, { type: 'user' }>, told: string): boolean {
  if (told === '') return false
  const text = heard.block.type === 'text' ? bare(String(heard.block.text)) : ''
  return text !== '' && (text.includes(`<${fence}>`) || bare(told).includes(text))
}

function bare(text: string): string {
  return text.replaceAll(/\s+/g, '')
}
