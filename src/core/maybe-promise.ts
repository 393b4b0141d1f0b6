// What is often there at once and sometimes must be waited for: where it is there, it costs no promise.
export type MaybePromise<T> = T | Promise<T>

/** At once where it is there already. Whatever goes wrong, in `next` too once it was waited for, goes to `fail`. */
export function settleNow<T>(value: MaybePromise<T>, next: (value: T) => void, fail: (error: Error) => void): void {
  if (value instanceof Promise) value.then(next).catch(fail)
  else next(value)
}
