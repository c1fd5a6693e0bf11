import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

/** A database server of the cluster on this machine. */
export interface NodePlace {
  readonly name: string
  /** The folder of its files and the working directory of its processes. */
  readonly folder: string
  /** The port of PostgreSQL. */
  readonly sqlPort: number
  /** The port of Patroni's REST interface. */
  readonly restPort: number
  /** The port where it reaches etcd. */
  readonly etcdPort: number
}

interface PatroniFile {
  name: string
  restapi: { listen: string; connect_address: string }
  etcd: { hosts: readonly string[]; use_proxies?: boolean }
  bootstrap: { dcs: { synchronous_mode: boolean; synchronous_mode_strict: boolean; ttl: number } }
  postgresql: {
    listen: string
    connect_address: string
    data_dir: string
    parameters?: Record<string, string>
    pg_hba: string[]
    authentication: { superuser: { username: string; password: string } }
  }
}

const page = join(import.meta.dirname, '../../docs/postgres-failover.md')

/** The text of the only block of the page in this language. */
function blockOf(language: string): string {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)]
  const found = blocks.filter(([, name]) => name === language)
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks of ${language}`)
  return found[0]![2]!
}

/** The `patroni.yml` of the page. */
export function patroniOfPage(): PatroniFile {
  return parse(blockOf('yaml')) as PatroniFile
}

/** The same for one node on this machine: only its name, addresses and paths differ. */
export function patroniFor(node: NodePlace): string {
  const file = patroniOfPage()
  const rest = `127.0.0.1:${node.restPort}`
  const sql = `127.0.0.1:${node.sqlPort}`
  file.name = node.name
  file.restapi = { listen: rest, connect_address: rest }
  // Behind a gateway: it must not learn the addresses of the members.
  file.etcd = { hosts: [`127.0.0.1:${node.etcdPort}`], use_proxies: true }
  Object.assign(file.postgresql, { listen: sql, connect_address: sql, data_dir: join(node.folder, 'data') })
  file.postgresql.parameters = { unix_socket_directories: node.folder }
  file.postgresql.pg_hba = file.postgresql.pg_hba.map(line => line.replace('10.0.0.0/24', '127.0.0.0/8'))
  return stringify(file)
}

/** The `haproxy.cfg` of the page, for nodes on this machine. */
export function haproxyFor(port: number, nodes: readonly NodePlace[]): string {
  let text = changed(blockOf('haproxy'), '127.0.0.1:5000', `127.0.0.1:${port}`)
  for (const [i, { sqlPort, restPort }] of nodes.entries())
    text = changed(
      text,
      `10.0.0.${i + 1}:5432 check port 8008`,
      `127.0.0.1:${sqlPort} check port ${restPort}`,
    )
  if (text.includes('10.0.0.')) throw new Error(`an address of the page is left:\n${text}`)
  return text
}

function changed(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`${page} does not have: ${from}`)
  return text.replace(from, to)
}
