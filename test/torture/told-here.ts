// For programs that `forked` starts: what they were told, and how they say that they are ready.

/** What the program was told. */
export const toldHere = <Told>(): Told => JSON.parse(process.argv[2] ?? 'null')

/** It is ready, and ends with whoever started it. */
export function readyHere(ready: object): void {
  process.send?.(ready)
  process.once('disconnect', () => process.exit(0))
}
