// §8.2.3: percentiles of values that come one by one. They are exact of so many values as are kept; of more, they come
// out of a histogram, however many there are.
import { count, type Histogram, percentiles } from './latency-histogram.ts'

const KEPT_MAX = 100_000
const FIRST_ROOM = 64

export class RankedValues {
  readonly #kept_max: number
  #values = new Float64Array(FIRST_ROOM)
  #length = 0
  #histogram: Histogram | undefined

  constructor(kept_max = KEPT_MAX) {
    this.#kept_max = kept_max
  }

  add(value: number): void {
    if (!this.#histogram && this.#length === this.#kept_max) this.#countAll()
    if (this.#histogram) count(this.#histogram, value)
    else this.#keep(value)
  }

  #keep(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(Math.min(2 * this.#length, this.#kept_max))
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  #countAll(): void {
    this.#histogram = {}
    for (const value of this.#values.subarray(0, this.#length)) count(this.#histogram, value)
    this.#values = new Float64Array(0)
  }

  /** For each percent the smallest value that at least so many percent do not exceed; nulls where there is none. */
  percentiles(percents: readonly number[]): (number | null)[] {
    if (this.#histogram) return percentiles(this.#histogram, percents)
    const sorted = this.#values.subarray(0, this.#length).sort()
    return percents.map((percent) => sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null)
  }
}
