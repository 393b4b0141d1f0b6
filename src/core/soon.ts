// What is often at hand and sometimes has to be waited for: where it is there, it costs no promise.
export type Soon<T> = T | Promise<T>

/** At once where it is there already. Whatever goes wrong, in `next` too once it was waited for, goes to `fail`. */
export function whenThere<T>(soon: Soon<T>, next: (value: T) => void, fail: (error: Error) => void): void {
  if (soon instanceof Promise) soon.then(next).catch(fail)
  else next(soon)
}
