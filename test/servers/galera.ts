/**
 * A Galera cluster of MariaDB servers on 127.0.0.1. A node that joins receives a copy of the data
 * by rsync.
 */
import { existsSync } from 'node:fs'
import { executable } from './binaries.js'
import { freePort } from './free-port.js'
import { type MariaDb, onMariadb, startMariadb } from './mariadb.js'

/** Comes with Debian's mariadb-server. */
const PROVIDERS = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so']

/**
 * Not root: an rsync that root starts as a daemon gives up its rights, and then cannot write the
 * data.
 */
const SYSTEM_USER = 'mysql'

/** Returns what is missing here for a cluster, or `undefined`. */
export function galeraLacks(): string | undefined {
  if (!onMariadb()) return 'MariaDB'
  if (!PROVIDERS.some(existsSync)) return 'galera-4'
  return ['rsync', 'wsrep_sst_rsync', 'ss', 'lsof'].find((program) => !executable(program))
}

/** Starts a cluster; all nodes take writes. */
export async function startGalera(nodes: number): Promise<MariaDb[]> {
  const provider = PROVIDERS.find(existsSync)
  const ports = await Promise.all(Array.from({ length: nodes * 3 }, () => freePort()))
  const [group, transfer, copy] = [
    ports.slice(0, nodes),
    ports.slice(nodes, 2 * nodes),
    ports.slice(2 * nodes),
  ]
  const cluster: MariaDb[] = []
  for (let node = 0; node < nodes; node++) {
    const members = group.slice(0, node).map((port) => `127.0.0.1:${port}`)
    cluster.push(
      await startMariadb(
        [
          '--wsrep-on=ON',
          `--wsrep-provider=${provider}`,
          `--wsrep-cluster-address=gcomm://${members.join(',')}`,
          '--wsrep-cluster-name=tests',
          `--wsrep-node-name=node${node}`,
          '--wsrep-node-address=127.0.0.1',
          '--wsrep-sst-method=rsync',
          '--wsrep-provider-options=base_host=127.0.0.1;' +
            `base_port=${group[node]};gmcast.listen_addr=tcp://127.0.0.1:${group[node]};` +
            `ist.recv_addr=127.0.0.1:${transfer[node]};gcache.size=32M`,
          '--binlog-format=ROW',
          '--innodb-autoinc-lock-mode=2',
          `--wsrep-sst-receive-address=127.0.0.1:${copy[node]}`,
        ],
        { systemUser: SYSTEM_USER },
      ),
    )
  }
  return cluster
}
