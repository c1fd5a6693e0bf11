/** The part of lowlight that is used. Its own types refer to those of a browser, which would then be visible
 *  in the whole project. `tsconfig.json` names this file. */
export interface CodeElement {
  readonly type: 'element'
  readonly properties: { readonly className?: unknown }
  readonly children: readonly CodeNode[]
}

export type CodeNode = CodeElement | { readonly type: 'text'; readonly value: string }

export interface CodeRoot {
  readonly children: readonly CodeNode[]
}

export declare const common: Readonly<Record<string, unknown>>

export declare function createLowlight(grammars: Readonly<Record<string, unknown>>): {
  registered(name: string): boolean
  highlight(name: string, code: string): CodeRoot
}
