import { acpSuite } from './rows/acp.ts'
import { agentSuite } from './rows/agent.ts'
import { appendSuite } from './rows/append.ts'
import { blockSuite } from './rows/block.ts'
import { bytesSuite } from './rows/bytes.ts'
import { callersSuite } from './rows/callers.ts'
import { cliSuite } from './rows/cli.ts'
import { coldSuite } from './rows/cold.ts'
import { contextSuite } from './rows/context.ts'
import { copySuite } from './rows/copy.ts'
import { diskSuite } from './rows/disk.ts'
import { dispatchSuite } from './rows/dispatch.ts'
import { fitSuite } from './rows/fit.ts'
import { followSuite } from './rows/follow.ts'
import { forkSuite } from './rows/fork.ts'
import { growthSuite } from './rows/growth.ts'
import { httpSuite } from './rows/http.ts'
import { httpBusySuite } from './rows/http-busy.ts'
import { indexPostgresSuite } from './rows/index-postgres.ts'
import { largeSuite } from './rows/large.ts'
import { listSuite } from './rows/list.ts'
import { loadSuite } from './rows/load.ts'
import { memorySuite } from './rows/memory.ts'
import { parallelSuite } from './rows/parallel.ts'
import { partsSuite } from './rows/parts.ts'
import { peersSuite } from './rows/peers.ts'
import { poolerSuite } from './rows/pooler.ts'
import { postgresSuite } from './rows/postgres.ts'
import { recorderSuite } from './rows/recorder.ts'
import { searchSuite } from './rows/search.ts'
import { searchPostgresSuite } from './rows/search-postgres.ts'
import { startSuite } from './rows/start.ts'
import { stopSuite } from './rows/stop.ts'
import { tailSuite } from './rows/tail.ts'
import { usersSuite } from './rows/users.ts'
import { writersSuite } from './rows/writers.ts'
import type { Suite } from './suite.ts'

/** All suites, in the order of the table. */
export const suites: readonly Suite[] = [
  appendSuite,
  parallelSuite,
  coldSuite,
  loadSuite,
  tailSuite,
  listSuite,
  forkSuite,
  bytesSuite,
  searchSuite,
  searchPostgresSuite,
  writersSuite,
  postgresSuite,
  callersSuite,
  poolerSuite,
  usersSuite,
  dispatchSuite,
  diskSuite,
  copySuite,
  httpSuite,
  httpBusySuite,
  followSuite,
  peersSuite,
  growthSuite,
  partsSuite,
  contextSuite,
  fitSuite,
  recorderSuite,
  agentSuite,
  cliSuite,
  startSuite,
  stopSuite,
  memorySuite,
  indexPostgresSuite,
  acpSuite,
  blockSuite,
  largeSuite,
]
