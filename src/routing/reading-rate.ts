// How many tokens of prompt a target reads in a second, learnt from how long first tokens took.

/** Below this, a first token takes as long as the network and the first step of the answer do. */
const TELLING_TOKENS = 2_048
const SAMPLES_LEAST = 5
/** What the latest sample counts for, once there are enough; and by how much it may differ from what is known. */
const LATEST_SHARE = 0.05
const STEP_MOST = 2

export class ReadingRate {
  #samples = 0
  #tokens_per_s = 0

  /** Undefined until enough was seen. */
  get tokens_per_s(): number | undefined {
    return this.#samples < SAMPLES_LEAST ? undefined : this.#tokens_per_s
  }

  /** So many tokens were read in so long: those of the prompt, and all that was ahead of it. */
  note(tokens: number, ms: number): void {
    if (tokens < TELLING_TOKENS || ms <= 0) return
    const seen = (tokens / ms) * 1_000
    this.#samples++
    if (this.#samples === 1) this.#tokens_per_s = seen
    const share = Math.max(LATEST_SHARE, 1 / this.#samples)
    const bounded = Math.min(this.#tokens_per_s * STEP_MOST, Math.max(this.#tokens_per_s / STEP_MOST, seen))
    this.#tokens_per_s += (bounded - this.#tokens_per_s) * share
  }
}
