// Whether traffic should come here: the store answers, and nobody has asked us to stop. What is away without keeping us
// from answering is told, and no reason to send traffic elsewhere.
export interface Probe {
  name: string
  /** Rejects with the reason while the part does not work. */
  ping(): Promise<void>
}

export type Readiness = ReturnType<typeof readinessOf>

export function readinessOf(probes: readonly Probe[], degraded: () => string[] = () => []) {
  let draining = false
  let parting = false
  return {
    drain(): void {
      draining = true
    },
    /** This process goes, but another one answers behind the same address: the server as such is ready. */
    partWithConnections(): void {
      parting = true
    },
    /** Whether clients are to go on over another connection. */
    isParting: () => draining || parting,
    degraded,

    async missing(): Promise<string[]> {
      const broken = await Promise.all(
        probes.map(({ name, ping }) =>
          ping().then(
            () => [],
            () => [`the ${name} does not answer`],
          ),
        ),
      )
      return [...(draining ? ['shutting down'] : []), ...broken.flat()]
    },
  }
}
