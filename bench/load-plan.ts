// What the load is asked to do, and what it found. The process that makes it is load.ts.

export interface LoadPlan {
  port: number
  path: string
  headers: Record<string, string>
  body: string
  /** Instead of the same one each time: these, in turn. */
  bodies?: readonly string[] | undefined
  connections: number
  seconds: number
  /** Gives each request a header value of its own. */
  unique_header?: string
  /** A file with one API key per line: each request speaks for another of them. */
  keys_file?: string
  /** Open loop: so many requests are due each second, whatever became of those before. Without it, a closed loop. */
  per_second?: number
  /** Every latency is told, to be put together with those of other plans. */
  tells_each?: boolean
}

export interface LoadResult {
  requests: number
  failures: number
  seconds: number
  p50_ms: number
  p99_ms: number
  /** To the first byte of the body. */
  first_p50_ms: number
  first_p99_ms: number
  /** Open loop: by how much requests left after they were due, at the 99th percentile. It is part of the latencies. */
  late_p99_ms: number
  /** Where the plan asks for it: how long each request took. */
  each_ms?: number[]
}
