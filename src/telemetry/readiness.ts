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
  return {
    drain(): void {
      draining = true
    },
    isDraining: () => draining,
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
