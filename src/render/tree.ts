/** Markdown as a small tree that a terminal, an HTML page and the viewer draw. Start with
 *  `markdown-tree.ts`, which makes it; `highlight.ts` colours code. Pure: imports `core` only. */

/** A part of a line. */
export type MarkdownSpan =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'strong' | 'emphasis' | 'strike'; readonly spans: readonly MarkdownSpan[] }
  /** The target is an http or https URL. */
  | { readonly type: 'link'; readonly href: string; readonly spans: readonly MarkdownSpan[] }
  | { readonly type: 'break' }

export type MarkdownBlock =
  | { readonly type: 'heading'; readonly level: number; readonly spans: readonly MarkdownSpan[] }
  | { readonly type: 'paragraph'; readonly spans: readonly MarkdownSpan[] }
  | {
      readonly type: 'code'
      readonly language: string
      readonly text: string
      /** Null for code by indentation. */
      readonly fence: CodeFence | null
    }
  | { readonly type: 'quote'; readonly blocks: readonly PlacedBlock[] }
  | { readonly type: 'list'; readonly items: readonly MarkdownItem[] }
  | {
      readonly type: 'table'
      readonly head: readonly TableCell[]
      readonly rows: readonly (readonly TableCell[])[]
      readonly sides: readonly TableSide[]
    }
  | { readonly type: 'rule' }

export interface CodeFence {
  /** Three or more backticks or tildes. */
  readonly sign: string
  /** False if the text ends before the code does. */
  readonly isClosed: boolean
}

export type TableCell = readonly MarkdownSpan[]

export type TableSide = 'left' | 'right' | 'middle'

/** A block and its distance from the one before it. */
export interface PlacedBlock {
  readonly block: MarkdownBlock
  /** True if an empty line separates it from the block before it. */
  readonly isApart: boolean
}

export interface MarkdownItem {
  /** Null in a list of bullets. */
  readonly number: number | null
  /** Null if the item has no check box. */
  readonly isChecked: boolean | null
  readonly blocks: readonly PlacedBlock[]
  /** True if an empty line separates it from the item before it. */
  readonly isApart: boolean
}
