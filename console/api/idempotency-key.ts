// §11 from a browser: one key for each thing that somebody wants done, however often it has to be sent.
const BYTES = 16

/** Every try at the same body gets the same key; another body, or the next thing after a success, another one. */
export function attempts() {
  let current: { body: string; key: string } | undefined
  return {
    keyFor(body: unknown): string {
      const text = JSON.stringify(body) ?? ''
      if (current?.body !== text) current = { body: text, key: randomKey() }
      return current.key
    },
    succeeded() {
      current = undefined
    },
  }
}

/** `randomUUID` is missing where a page came over plain HTTP from another machine; this is not. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
