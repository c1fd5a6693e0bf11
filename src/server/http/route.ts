import type { ZodType, z } from 'zod'
import { firstProblem } from '../../api/schema/index.ts'
import type { AccessToken, TokenScope } from '../../core/access-token.ts'
import { InvalidError } from '../../core/errors.ts'
import type { ServiceStore } from './service-options.ts'
import type { CutOff } from './stream.ts'

/** The sender of a request that carries a valid token. */
export interface Caller {
  /** The token, without its secret. */
  readonly token: AccessToken
  /** The store of the token's tenant. */
  readonly store: ServiceStore
  /** Identifies the request in logs and problem details. */
  readonly requestId: string
}

/** A request whose parts have been checked. */
export interface RouteInput<Params, Query, Body> {
  /** The variable parts of the path. */
  readonly params: Params
  /** The parameters after `?`. */
  readonly query: Query
  /** The JSON body. Undefined if the route takes none. */
  readonly body: Body
  /** The request itself, for its headers, its signal and bodies that are not JSON. */
  readonly request: Request
  /** The sender. */
  readonly caller: Caller
  /** For bodies that are read while they are sent. */
  readonly cutOff: CutOff
}

/** A response of a route, for the OpenAPI document. */
export interface RouteResponse {
  /** What it means. */
  readonly description: string
  /** The schema of a JSON body. */
  readonly schema?: ZodType
  /** The media type of another body. */
  readonly mediaType?: string
  /** The schema of the data of each event, if the body is a stream of events. */
  readonly events?: ZodType
}

/** Parameters that share the beginning of their names, such as `metadata.<name>`. */
export interface OpenQuery {
  /** The beginning of the names. */
  readonly prefix: string
  /** What such a parameter does. */
  readonly description: string
}

/** A route as its file declares it. */
export interface RouteDeclaration<
  P extends ZodType = ZodType<undefined>,
  Q extends ZodType = ZodType<undefined>,
  B extends ZodType = ZodType<undefined>,
> {
  /** The method, in lower case. */
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** The path below `/api/v1`, with its variable parts in braces. */
  readonly path: string
  /** Names the operation in the OpenAPI document and in generated clients. */
  readonly operation: string
  /** The scope that the token must have. */
  readonly scope: TokenScope
  /** The group of the operation in the documentation. */
  readonly tag: string
  /** One line, without a full stop. */
  readonly summary: string
  /** More, as sentences. */
  readonly description?: string
  /** The schema of the variable parts of the path. */
  readonly params?: P
  /** The schema of the parameters after `?`. Unknown ones are refused. */
  readonly query?: Q
  /** Parameters after `?` whose names the caller chooses, besides those of the schema. */
  readonly openQuery?: OpenQuery
  /** The schema of the JSON body. */
  readonly body?: B
  /** True if the body may be left out. */
  readonly bodyOptional?: true
  /** The media type of a body that is not JSON, which the handler reads itself. */
  readonly rawBody?: string
  /** Headers that the route reads, with their meaning. */
  readonly headers?: Readonly<Record<string, string>>
  /** Successful responses, by status. */
  readonly responses: Readonly<Record<number, RouteResponse>>
  /** Answers a checked request. Thrown errors become problem details. */
  handle(input: RouteInput<z.output<P>, z.output<Q>, z.output<B>>): Promise<Response>
}

/** A route of any input. */
export type Route = RouteDeclaration<ZodType, ZodType, ZodType>

/** Declares a route. The types of its input follow from its schemas. */
export function route<
  P extends ZodType = ZodType<undefined>,
  Q extends ZodType = ZodType<undefined>,
  B extends ZodType = ZodType<undefined>,
>(declaration: RouteDeclaration<P, Q, B>): Route {
  return declaration as unknown as Route
}

/** Parses a value with a schema. Throws InvalidError that names the field. */
export function parseWith<S extends ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { field, problem } = firstProblem(parsed.error)
  throw new InvalidError(field === '' ? where : field, problem)
}

/** The parameters of a URL as an object. A repeated parameter is a list. */
export function queryOf(url: string): Record<string, string | string[]> {
  const start = url.indexOf('?')
  const query: Record<string, string | string[]> = {}
  if (start === -1) return query
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const before = Object.hasOwn(query, name) ? query[name]! : undefined
    const next = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
    Object.defineProperty(query, name, { value: next, enumerable: true, writable: true, configurable: true })
  }
  return query
}

/** A JSON response. */
export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache', ...headers },
  })
}
