// Files that belong to the program and are read while it runs: migrations, a thread's script, a page's style. They lie
// in `src`, beside the sources or, of a build, beside the one file that the sources were put into.

/** Set by the build alone (scripts/bundle.mjs). */
declare const IS_BUNDLED: boolean | undefined

const SRC = new URL(typeof IS_BUNDLED === 'undefined' ? '../' : '../src/', import.meta.url)

/** `path` is below `src`. */
export const ownFile = (path: string): URL => new URL(path, SRC)
