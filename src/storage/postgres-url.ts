// What the URL of a PostgreSQL says beside where it is.

const CONNECT_TIMEOUT_MS = 2_500

/**
 * To connect, or to be given a connection: the first that takes longer ends a request. libpq's parameter, in seconds,
 * says another; what no timer can be set to is none.
 */
export function connectTimeout(url: string): number {
  const [, seconds] = /[?&]connect_timeout=(\d{1,6})(?=[&#]|$)/.exec(url) ?? []
  return Number(seconds ?? 0) * 1_000 || CONNECT_TIMEOUT_MS
}

/**
 * PostgreSQL would compile a statement that it thinks dear. Over the partitions of usage that takes hundreds of
 * milliseconds, for sums that are read in ten. Asked for as the connection is made, it costs no round trip.
 */
export function withoutJit(url: string): string {
  const off = encodeURIComponent('-c jit=off')
  if (/[?&]options=/.test(url)) return url.replace(/[?&]options=[^&#]*/, `$&%20${off}`)
  return `${url}${url.includes('?') ? '&' : '?'}options=${off}`
}
