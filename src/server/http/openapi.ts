import { OpenAPIHono } from '@hono/zod-openapi'
import type { ZodObject } from 'zod'
import { problemSchema } from '../../api/schema/index.ts'
import type { Route } from './route.ts'

type PathConfig = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0]

function operationOf(route: Route, path: string): PathConfig {
  const { params, query, body, rawBody } = route
  const parameters = [...headerParameters(route), ...openParameters(route)]
  const content = rawBody === undefined ? null : { [rawBody]: { schema: { type: 'string' as const } } }
  return {
    method: route.method,
    path,
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    security: [{ token: [route.scope] }],
    request: {
      ...(params && { params: params as ZodObject }),
      ...(query && { query: query as ZodObject }),
      ...(body && {
        body: { required: !route.bodyOptional, content: { 'application/json': { schema: body } } },
      }),
      ...(content && { body: { required: true, content } }),
    },
    ...(parameters.length > 0 && { parameters }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, { description, schema, mediaType, events }]) => [
          status,
          {
            description,
            ...(schema && { content: { 'application/json': { schema } } }),
            ...(mediaType !== undefined && { content: { [mediaType]: { schema: { type: 'string' } } } }),
            // OpenAPI 3.1 has no word for the items of a stream. The schema is that of the data of one event,
            // as in the documents of model providers.
            ...(events && { content: { 'text/event-stream': { schema: events } } }),
          },
        ]),
      ),
      default: {
        description: 'The request was refused or failed',
        content: { 'application/problem+json': { schema: problemSchema } },
      },
    } as PathConfig['responses'],
  }
}

function headerParameters({ headers = {} }: Route) {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header' as const,
    required: false,
    description,
    schema: { type: 'string' as const },
  }))
}

/** Parameters with names that the caller chooses: an object whose members are sent as parameters of their
 *  own. Its own name is not sent. */
function openParameters({ openQuery }: Route) {
  if (!openQuery) return []
  const { prefix, description } = openQuery
  const members = {
    patternProperties: { [`^${prefix.replaceAll('.', '\\.')}`]: { type: 'string' as const } },
  }
  return [
    {
      name: `${prefix}<name>`,
      in: 'query' as const,
      required: false,
      description,
      style: 'form' as const,
      explode: true,
      schema: { type: 'object' as const, ...members, additionalProperties: false },
    },
  ]
}

type Json = { [name: string]: unknown }

/** The OpenAPI document of the routes. */
export function openApiOf(routes: readonly Route[], version: string): object {
  const app = new OpenAPIHono()
  for (const route of routes) app.openAPIRegistry.registerPath(operationOf(route, `/api/v1${route.path}`))
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token of `skein token create`. Each operation names the scope that it needs: read, write, ask or admin.',
  })
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Skein',
      version,
      description: 'Durable, forkable, searchable conversations of AI agents.',
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
  })
  return withOpenResponses(document as unknown as Json)
}

/** Fields are added to responses in later versions, so their schemas must not exclude them. The schemas of
 *  requests stay as they are: unknown fields are refused. */
function withOpenResponses(document: Json): Json {
  const { schemas } = document.components as { schemas: Json }
  const requested = new Set<string>()
  const paths = Object.values(document.paths as Json).flatMap(path => Object.values(path as Json))
  for (const { requestBody } of paths as { requestBody?: unknown }[])
    addNames(requestBody, schemas, requested)
  for (const [name, schema] of Object.entries(schemas)) if (!requested.has(name)) open(schema)
  for (const { responses } of paths as { responses: unknown }[]) open(responses)
  return document
}

/** Collects the names of the schemas that a value refers to, directly and through others. */
function addNames(value: unknown, schemas: Json, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    const name = key === '$ref' ? String(member).split('/').at(-1)! : null
    if (name === null) addNames(member, schemas, names)
    else if (!names.has(name)) {
      names.add(name)
      addNames(schemas[name], schemas, names)
    }
  }
}

function open(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const schema = value as Json
  if (schema.additionalProperties === false) delete schema.additionalProperties
  for (const member of Object.values(schema)) open(member)
}
