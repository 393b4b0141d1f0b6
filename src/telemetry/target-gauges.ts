// How things stand at this moment, looked up when somebody asks: slots, queues and breakers of the operator's
// providers, all customers' targets together; and what budgets have left, which a task counts in the store.
import { Gauge, type Registry } from 'prom-client'
import { type Clock, MINUTE_MS } from '../core/clock.ts'

/** How many calls a target takes, and who waits. */
export interface TargetState {
  /** A provider's id, or `customers` for all targets of theirs. */
  provider: string
  slots: number
  in_use: number
  waiting: number
  /** Left alone by everyone, because it failed. */
  is_left_alone: boolean
}

/** What is held and what is nearly spent, in the whole store. */
export interface BudgetState {
  holds: number
  held_micros: number
  near_end: readonly { of: 'key' | 'window' | 'project'; used: '80' | '100'; budgets: number }[]
}

interface About {
  name: string
  help: string
  /** Of several workers: without it, the sum. */
  aggregator?: 'max'
}

const SLOTS = 'Calls that a provider takes at once, of each process; `customers` are their own targets with calls.'
const LEFT_ALONE = '1 while everyone leaves the provider alone, because it failed.'

/** One replica at a time counts them. What another has counted is not told for longer than this. */
const GOOD_FOR_MS = 3 * MINUTE_MS

export function targetGauges(registry: Registry, clock: Clock) {
  const registers = [registry]
  let states: () => readonly TargetState[] = () => []
  let budgets: { state: BudgetState; counted_at: number } | undefined

  const ofTargets = (about: About, figure: (state: TargetState) => number) =>
    new Gauge({
      ...{ ...about, labelNames: ['provider'] as const, registers },
      collect() {
        this.reset()
        for (const state of states()) this.set({ provider: state.provider }, figure(state))
      },
    })
  const known = () => (budgets && clock.now() - budgets.counted_at < GOOD_FOR_MS ? budgets.state : undefined)
  const ofStore = (name: string, help: string, figure: (state: BudgetState) => number) =>
    new Gauge({
      ...{ name, help, registers, aggregator: 'max' as const }, // all look at one store
      collect() {
        const state = known()
        if (state) this.set(figure(state))
        else this.remove()
      },
    })

  ofTargets({ name: 'switchyard_slots', help: SLOTS }, ({ slots }) => slots)
  ofTargets({ name: 'switchyard_slots_in_use', help: 'Calls that it has.' }, ({ in_use }) => in_use)
  ofTargets({ name: 'switchyard_slots_waiting', help: 'Calls that wait for a slot.' }, ({ waiting }) => waiting)
  ofTargets({ name: 'switchyard_provider_left_alone', help: LEFT_ALONE, aggregator: 'max' }, ({ is_left_alone }) =>
    is_left_alone ? 1 : 0,
  )
  ofStore(
    'switchyard_holds',
    'Holds on budgets, of all replicas. Calls of one key may share one.',
    ({ holds }) => holds,
  )
  ofStore('switchyard_held_micros', 'Micro-USD that are held, of all replicas.', ({ held_micros }) => held_micros)
  new Gauge({
    name: 'switchyard_budgets_near_end',
    help: 'Budgets of which so many percent or more are spent or held: keys, their windows, and caps of projects.',
    labelNames: ['of', 'used'] as const,
    registers,
    aggregator: 'max',
    collect() {
      this.reset()
      for (const { budgets, ...labels } of known()?.near_end ?? []) this.set(labels, budgets)
    },
  })

  return {
    /** Looked up at every scrape. */
    watch(look: () => readonly TargetState[]): void {
      states = look
    },
    noteBudgets(state: BudgetState): void {
      budgets = { state, counted_at: clock.now() }
    },
  }
}
