// Which routes are counted by their own names: those that the operator lists, always; of all others, whose names
// tenants choose, the busiest of each project in turn, up to a bound. The rest are counted together.
import { type Cell, newCell } from './generation-cell.ts'

export interface RouteLabels {
  provider: string
  model: string
  profile: string
}

export interface CountedRoute {
  readonly labels: RouteLabels
  /** By mode and outcome; made when one is first needed. */
  readonly cells: (Cell | undefined)[]
  /** By result. */
  readonly attempts: number[]
  /** Who brought the names. */
  readonly project_id: string
  readonly is_listed: boolean
  /** Since the last ranking. */
  calls: number
  score: number
}

export interface Bounds {
  /** How many routes that nobody lists are counted by their own names. */
  places: number
  /** How many wait to be: of one project, and of all. */
  waiting_of_one: number
  waiting: number
  rank_every_ms: number
}

export const USUAL_BOUNDS: Bounds = { places: 50, waiting_of_one: 50, waiting: 1_000, rank_every_ms: 300_000 }

const LABEL_MAX = 100
const NAMES_MAX = 1_000
/** Such targets are the same objects again and again; others are made for each call. */
const KEPT = 'managed_provider'
/** Two that are as busy as each other would take turns; who has the place keeps it until another is twice as busy. */
const STAYS = 2

/** Asked once for each route: whether the operator's settings list the model at this provider. */
export type IsListed = (provider: string, model: string) => boolean

export class CountedRoutes {
  isListed: IsListed = () => false
  /** What has no place of its own. */
  readonly others = newRoute({ provider: 'other', model: 'other', profile: 'other' }, '', false)
  readonly #bounds: Bounds
  readonly #routes = new Map<string, CountedRoute>()
  readonly #byTarget = new WeakMap<object, CountedRoute>()
  /** By names that need not be cut and cleared again. */
  readonly #byNames = new Map<string, CountedRoute>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #waitingOf = new Map<string, number>()
  #places_taken = 0
  #ranked_at = 0

  constructor(bounds = USUAL_BOUNDS) {
    this.#bounds = bounds
  }

  of(target: RouteLabels, project_id: string): CountedRoute {
    const known = this.#byTarget.get(target)
    if (known) return known
    const names = keyOf(target)
    const route = this.#byNames.get(names) ?? this.#find(target, project_id)
    if (route.is_listed && target.profile === KEPT) this.#byTarget.set(target, route)
    else if (route !== this.others) this.#remember(names, route)
    return route
  }

  *[Symbol.iterator](): Iterator<CountedRoute> {
    yield* this.#routes.values()
    yield this.others
  }

  /**
   * Who has a place from now on. To be called when all has been read that was counted: what loses its place is
   * forgotten, so that nobody sees it a second time under another name.
   */
  rank(now: number): void {
    if (now - this.#ranked_at < this.#bounds.rank_every_ms) return
    this.#ranked_at = now
    const unlisted = [...this.#routes.values()].filter(({ is_listed }) => !is_listed)
    for (const route of unlisted) {
      route.score = route.score / 2 + route.calls
      route.calls = 0
    }
    if (this.#waiting.size > 0) this.#giveOut(unlisted)
    this.#waiting.clear()
    this.#waitingOf.clear()
  }

  #remember(names: string, route: CountedRoute): void {
    if (this.#byNames.size >= NAMES_MAX) this.#byNames.clear()
    this.#byNames.set(names, route)
  }

  #giveOut(unlisted: readonly CountedRoute[]): void {
    const contenders = [
      ...unlisted.map((route) => ({
        route,
        project_id: route.project_id,
        score: route.score * STAYS,
        waiting: NOBODY,
      })),
      ...[...this.#waiting].map(([key, waiting]) => ({
        ...{ route: undefined, project_id: waiting.project_id, score: waiting.calls, waiting: { key, ...waiting } },
      })),
    ]
    const ranked = inTurns(contenders)
    this.#byNames.clear()
    const { places } = this.#bounds
    for (const { route } of ranked.slice(places)) if (route) this.#drop(route)
    for (const { route, waiting } of ranked.slice(0, places))
      if (!route) this.#add(waiting.key, newRoute(waiting.labels, waiting.project_id, false)).score = waiting.calls
  }

  #drop(route: CountedRoute): void {
    this.#routes.delete(keyOf(route.labels))
    this.#places_taken--
  }

  #add(key: string, route: CountedRoute): CountedRoute {
    this.#routes.set(key, route)
    if (!route.is_listed) this.#places_taken++
    return route
  }

  #find(target: RouteLabels, project_id: string): CountedRoute {
    const labels = labelsOf(target)
    const key = keyOf(labels)
    const known = this.#routes.get(key)
    if (known) return known
    const is_listed = this.isListed(target.provider, target.model)
    if (is_listed || this.#places_taken < this.#bounds.places)
      return this.#add(key, newRoute(labels, project_id, is_listed))
    this.#wait(key, labels, project_id)
    return this.others
  }

  #wait(key: string, labels: RouteLabels, project_id: string): void {
    const waiting = this.#waiting.get(key)
    if (waiting) return void waiting.calls++
    const own = this.#waitingOf.get(project_id) ?? 0
    if (own >= this.#bounds.waiting_of_one || this.#waiting.size >= this.#bounds.waiting) return
    this.#waitingOf.set(project_id, own + 1)
    this.#waiting.set(key, { labels, project_id, calls: 1 })
  }
}

interface Waiting {
  labels: RouteLabels
  project_id: string
  calls: number
}

const NOBODY = { key: '', labels: { provider: '', model: '', profile: '' }, project_id: '', calls: 0 }

/** The busiest of each project first, then the second of each: none has many places while another has none. */
function inTurns<One extends { project_id: string; score: number }>(all: readonly One[]): One[] {
  const turns = new Map<string, number>()
  return [...all]
    .sort((a, b) => b.score - a.score)
    .map((one) => {
      const turn = turns.get(one.project_id) ?? 0
      turns.set(one.project_id, turn + 1)
      return { one, turn }
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ one }) => one)
}

/** As they are told. Two that would be told alike are one: a scrape that has a series twice is refused as a whole. */
export const labelsOf = ({ provider, model, profile }: RouteLabels): RouteLabels => ({
  provider: tellable(provider),
  model: tellable(model),
  profile,
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be told
const UNTELLABLE = /[\x00-\x1f\x7f]/g

const tellable = (name: string) => name.slice(0, LABEL_MAX).toWellFormed().replace(UNTELLABLE, '_')

const keyOf = ({ provider, model, profile }: RouteLabels) => `${provider}\n${model}\n${profile}`

const newRoute = (labels: RouteLabels, project_id: string, is_listed: boolean): CountedRoute => ({
  ...{ labels, project_id, is_listed },
  ...{ cells: [], attempts: [], calls: 0, score: 0 },
})

export const cellOf = ({ cells }: CountedRoute, at: number): Cell => {
  cells[at] ??= newCell()
  return cells[at]
}
