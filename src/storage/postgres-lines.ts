// Connections that many reads share. Each stands by itself, so none needs a connection of its own: they are sent as
// they come, and answered in that order. A pool would let as many through in a turn of the event loop as it has
// connections, and the busier the process, the rarer its turns.
import { Client, type ClientConfig, type QueryConfig, type QueryResult } from 'pg'

interface Line {
  client: Client
  ready: Promise<unknown>
}

interface Place {
  /** Undefined before it is first needed, and after it broke. */
  line: Line | undefined
  waiting: number
}

export type Lines = ReturnType<typeof lines>

/** `onError` is told of lines that break while nothing waits on them; the next statement opens them again. */
export function lines(settings: ClientConfig, count: number, onError: (error: Error) => void) {
  const places: Place[] = Array.from({ length: count }, () => ({ line: undefined, waiting: 0 }))

  function open(place: Place): Line {
    const client = new Client(settings)
    const drop = () => {
      if (place.line?.client === client) place.line = undefined
    }
    client.on('end', drop)
    client.on('error', (error) => {
      if (place.line?.client === client && place.waiting === 0) onError(error)
      drop()
    })
    const ready = client.connect().catch((error) => {
      drop()
      throw error
    })
    return { client, ready }
  }

  /** The one with the fewest that wait on it. */
  function leastBusy(): Place {
    let best = places[0] as Place
    for (const place of places) if (place.waiting < best.waiting) best = place
    return best
  }

  return {
    async query(statement: QueryConfig): Promise<QueryResult> {
      const place = leastBusy()
      place.waiting++
      try {
        place.line ??= open(place)
        const { client, ready } = place.line
        await ready
        return await client.query(statement)
      } finally {
        place.waiting--
      }
    },

    async close(): Promise<void> {
      await Promise.allSettled(places.map(({ line }) => line?.ready.then(() => line.client.end())))
    },
  }
}
