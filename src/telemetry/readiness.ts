// Whether traffic should come here: the store answers, and nobody has asked us to stop.
export interface Probe {
  name: string
  /** Rejects with the reason while the part does not work. */
  ping(): Promise<void>
}

export type Readiness = ReturnType<typeof readinessOf>

export function readinessOf(probes: readonly Probe[]) {
  let draining = false
  return {
    drain(): void {
      draining = true
    },
    isDraining: () => draining,

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
