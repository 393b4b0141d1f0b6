// Where the attacker's cluster of a hostile run is, and what its program says once it is there.
export interface ClusterReady {
  endpoint: string
  /** Of a service that is not the attacker's, and that nobody may reach. */
  internal_port: number
}

export const CLUSTER_ADDRESS = '127.0.1.1'

/** Where the operator lets clusters be; every other loopback address is the operator's own. */
export const CLUSTER_NETWORK = '127.0.1.0/24'
