// When whoever waits for something looks again. At each turn of the event loop would be soonest, and would keep a core
// busy for as long as the wait: the work that is waited for needs it.
import { setTimeout as rest } from 'node:timers/promises'

const REST_MS = 5

/** These go on where the test holds the timers. */
export const nextLook = () => rest(REST_MS)
