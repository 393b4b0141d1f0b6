// What a run holds and must let go of, however it ends: processes, folders, databases.

type Release = () => unknown

const held: Release[] = []

/** Runs `release` at the end of the run, last held first; the returned function does so earlier, and only once. */
export function holdUntilEnd(release: Release): () => Promise<void> {
  held.push(release)
  return async () => {
    const at = held.indexOf(release)
    if (at < 0) return
    held.splice(at, 1)
    await release()
  }
}

let ending: Promise<void> | undefined

/** However often it is called, everything is let go of once, and every caller waits for all of it. */
export function letGoOfAll(): Promise<void> {
  ending ??= letGo()
  return ending
}

async function letGo(): Promise<void> {
  for (let release = held.pop(); release; release = held.pop()) {
    try {
      await release()
    } catch (error) {
      process.stderr.write(`bench: could not clean up: ${String(error)}\n`)
    }
  }
}

let interrupted = false

/** Whoever interrupts does not want to wait: what is stopped then is stopped at once. */
export const wasInterrupted = () => interrupted

/** An interrupted run leaves as little behind as a finished one. */
export function cleanUpOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      interrupted = true
      void letGoOfAll().then(() => process.exit(130))
    })
}
