// §3.1, R13: a change of a cluster's status: from what, to what, when, and who said so.
import { type Static, Type } from 'typebox'
import { HOUR_MS } from '../core/clock.ts'
import { orNull, time } from '../core/shapes.ts'
import { Cluster } from './cluster.ts'

/** What is told: a day. What is kept: a month, so that an operator can look further back in the store. */
export const TOLD_MS = 24 * HOUR_MS
export const KEPT_MS = 30 * 24 * HOUR_MS

const { status } = Cluster.properties

export const ClusterTransition = Type.Object(
  {
    object: Type.Literal('byoc_cluster.transition'),
    cluster_id: Type.String(),
    from: orNull(status),
    to: Type.Union([status, Type.Literal('deregistered')]),
    at: time(),
    why: Type.Enum(['register', 'heartbeat', 'sweep', 'deregister'], {
      description: 'Who said so: its registration, the cluster itself, its silence for 90 seconds, its deregistration.',
    }),
  },
  { title: 'ClusterTransition' },
)
export type ClusterTransition = Static<typeof ClusterTransition>
