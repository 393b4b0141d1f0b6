// Attacks by reading: whatever may be asked of a long history, in the ways that find nothing for the longest.
import { type Attack, must, paced } from './attack.ts'

const DAY_MS = 86_400_000
const span = () => {
  const to_ms = Date.now()
  return `from=${new Date(to_ms - 60 * DAY_MS).toISOString()}&to=${new Date(to_ms).toISOString()}`
}

const SEARCHES = [
  () => '/v2/usage?provider=nobody&limit=100',
  () => '/v2/requests?error=no-upstream-said-this',
  () => `/v2/usage?group_by=model&status=completed&${span()}`,
  () => `/v2/usage/reuse?${span()}`,
  () => `/v2/usage/outcomes?group_by=key_id&${span()}`,
  () => `/v2/usage/timeline?step=day&profile=none&${span()}`,
  () => '/v2/usage?group_by=tag:team',
]
const NOTHING = { filter: { trace_ids: ['trc_of_nobody'] }, mode: 'erase' }

const searches: Attack = {
  does: 'Has a long history, asks of it what no index knows, again and again, and purges what is not there.',
  guard: 'R77, R78: what is read is read in parts and beside the event loop, calls before reports',
  async run(arms) {
    await must(arms, { method: 'POST', path: '/v2/purge-jobs', body: NOTHING }) // lest all of them are refused unseen
    await Promise.all([
      paced(arms, 40, (n) => arms.ask({ path: (SEARCHES[n % SEARCHES.length] as () => string)() }), 8),
      paced(arms, 5, () => arms.ask({ method: 'POST', path: '/v2/purge-jobs', body: NOTHING }), 2),
    ])
  },
}

export const READING_ATTACKS = { searches }
