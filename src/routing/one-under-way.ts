// R78: of one project one such work at a time. Whoever comes meanwhile and needs it newer waits for the next one, which
// begins after all of them have come: however many they are, it is done once more.

interface Needs<Wanted, Made> {
  make(name: string, wanted: Wanted): Promise<Made>
  /** What was begun for the one is good enough for the other. */
  serves(begun_for: Wanted, wanted: Wanted): boolean
  /** What serves both: the one waits, the other has come since. */
  newer(one: Wanted, other: Wanted): Wanted
}

interface Work<Wanted, Made> {
  begun_for: Wanted
  made: Promise<Made>
  /** What waits for it. */
  next: { wanted: Wanted; made: Promise<Made> } | undefined
}

export function oneUnderWay<Wanted, Made>({ make, serves, newer }: Needs<Wanted, Made>) {
  const all = new Map<string, Work<Wanted, Made>>()

  function begin(name: string, wanted: Wanted): Promise<Made> {
    const work: Work<Wanted, Made> = { begun_for: wanted, made: make(name, wanted), next: undefined }
    all.set(name, work)
    const over = () => {
      if (!work.next) all.delete(name)
    }
    work.made.then(over, over)
    return work.made
  }

  function waitBehind(name: string, work: Work<Wanted, Made>, wanted: Wanted): Promise<Made> {
    if (work.next) {
      work.next.wanted = newer(work.next.wanted, wanted)
      return work.next.made
    }
    const goOn = (): Promise<Made> => begin(name, work.next?.wanted ?? wanted)
    work.next = { wanted, made: work.made.then(goOn, goOn) }
    return work.next.made
  }

  return function made(name: string, wanted: Wanted): Promise<Made> {
    const work = all.get(name)
    if (!work) return begin(name, wanted)
    return serves(work.begun_for, wanted) ? work.made : waitBehind(name, work, wanted)
  }
}
