// What asks a server to stop or to read its file again, by the signals of the operating system.
import { closeSync, openSync } from 'node:fs'

export interface Asked {
  /** SIGHUP. */
  onReload(): void
  /** SIGUSR2, of which a process would end by itself. */
  onReplace(): void
}

/** Resolves with what asks to stop: SIGTERM, SIGINT, or SIGHUP of a terminal that was closed. */
export function stopSignal({ onReload, onReplace }: Asked): Promise<NodeJS.Signals> {
  const had_terminal = hasTerminal()
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
    process.on('SIGUSR2', onReplace)
    process.on('SIGHUP', (signal) => {
      if (had_terminal && !hasTerminal()) resolve(signal)
      else onReload()
    })
  })
}

/** A terminal that is closed says so with the signal that otherwise means: read the file again. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
