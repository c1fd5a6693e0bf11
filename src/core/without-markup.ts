/** A text without the marks of Markdown, for previews in one line: `# Plan: **two** [steps](…)` is `Plan:
 *  two steps`. Pairs of marks go only where they enclose words, so `a * b * c` and `snake_case` stay. Code
 *  keeps its characters. This is not a parser: `render` has one, which is too slow to load for a list. */
export function withoutMarkup(text: string): string {
  if (!/[*_~`#>[|]|---/.test(text)) return text
  return text
    .replace(lineStarts, '')
    .replace(tableRow, (_, row: string) => row.split('|').join(' · '))
    .split(code)
    .map((piece, index) => (index % 2 === 1 ? inCode(piece) : withoutPairs(piece)))
    .join('')
}

/** Fences with their language, headings, quotes, rules, and the row under the head of a table. */
const lineStarts =
  /^[ \t]*(?:(?:`{3,}|~{3,})[^\n`]*$|#{1,6}[ \t]+|(?:>[ \t]?)+|(?:[-*_][ \t]*){3,}$|\|?[ \t]*:?-{2,}:?[ \t]*\|[-:| \t]*$)/gm

const tableRow = /^[ \t]*\|(.*)\|[ \t]*$/gm

const code = /(`+[^`]+`+)/

function inCode(piece: string): string {
  return piece.replace(/^`+ ?| ?`+$/g, '')
}

/** The length between two marks is limited, because the search for a second mark starts at every first. */
function withoutPairs(text: string): string {
  return text
    .replace(/!?\[([^\][\n]{0,200})\]\([^()\s]{0,500}\)/g, '$1')
    .replace(/(?<![\p{L}\p{N}*])(\*\*\*|\*\*|\*)(?=[^\s*])([^\n]{0,100}?[^\s*])\1(?![\p{L}\p{N}*])/gu, '$2')
    .replace(/(?<![\p{L}\p{N}_])(__|_)(?=[^\s_])([^\n]{0,100}?[^\s_])\1(?![\p{L}\p{N}_])/gu, '$2')
    .replace(/~~(?=\S)([^\n]{0,100}?\S)~~/g, '$1')
}
