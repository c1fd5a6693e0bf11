import { join } from 'node:path'
import { openMcpTools } from '../../src/agent/mcp/open-mcp-tools.ts'

/** A process that opens an MCP server, reports it, and exits on request without closing anything. */
const args = [join(import.meta.dirname, 'mcp-stdio.ts'), ...process.argv.slice(2)]
await openMcpTools({ test: { command: process.execPath, args } })
process.on('message', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
process.send?.('opened')
