// Types of bundle.mjs, which is plain JavaScript so that a build needs nothing to start.
export function bundle(program: string, folder: string): void
