// Very many texts in order, by code unit, in steps (turns.ts): a million of them take a second.
const STEP = 2_000

export function* sortedInSteps(texts: readonly string[]): Generator<void, string[]> {
  let runs: string[][] = []
  for (let at = 0; at < texts.length; at += STEP) {
    if (at > 0) yield
    runs.push(texts.slice(at, at + STEP).sort())
  }
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? []))
    runs = longer
  }
  return runs[0] ?? []
}

function* merged(one: readonly string[], other: readonly string[]): Generator<void, string[]> {
  const all: string[] = []
  for (let from_one = 0, from_other = 0; all.length < one.length + other.length; ) {
    const [left, right] = [one[from_one], other[from_other]]
    const is_left = right === undefined || (left !== undefined && left <= right)
    all.push((is_left ? left : right) as string)
    if (is_left) from_one++
    else from_other++
    if (all.length % STEP === 0) yield
  }
  return all
}
