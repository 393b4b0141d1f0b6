// How far down each page of the history was scrolled. Going back to one leads to the same place, once it is long enough
// again: what it shows may have to be loaded first.
const KEPT_MAX = 100
const PATIENCE_MS = 5_000

const places = new Map<string, number>()
let made = 0

const nameOf = (state: unknown) => (state as { place?: string } | null)?.place ?? 'first'

/** Before the page is left for another. */
export function keepPlace(): void {
  if (places.size >= KEPT_MAX) places.delete(places.keys().next().value ?? '')
  places.set(nameOf(history.state), window.scrollY)
}

/** For a new entry of the history. */
export const newPlace = () => ({ place: `p${++made} ${performance.timeOrigin}` })

let stop = () => {}

/** Where the entry that was gone back to had been left. */
export function restorePlace(): void {
  stop()
  const wanted = places.get(nameOf(history.state)) ?? 0
  const watch = new ResizeObserver(tryIt)
  const timer = setTimeout(end, PATIENCE_MS)
  function tryIt(): void {
    if (document.documentElement.scrollHeight - window.innerHeight < wanted) return
    window.scrollTo(0, wanted)
    end()
  }
  function end(): void {
    watch.disconnect()
    clearTimeout(timer)
    for (const by of TAKEN_OVER) window.removeEventListener(by, end)
    stop = () => {}
  }
  stop = end
  // Who scrolls meanwhile has somewhere else to go.
  for (const by of TAKEN_OVER) window.addEventListener(by, end, { passive: true })
  watch.observe(document.body)
}

const TAKEN_OVER = ['wheel', 'touchmove', 'keydown'] as const
