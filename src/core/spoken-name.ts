// How a name that somebody chose stands in what is written to people.

const NAME_MAX = 60

/**
 * A name that somebody chose must not look like a part of our letter, nor lead anywhere: without dots, colons, slashes
 * and `@`, no mail program makes a link of it (R78). A project is often called after an address, which stays legible.
 */
export function spokenName(name: string): string {
  const spoken = name.replaceAll('@', ' at ').replace(/(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu, ' dot ')
  return [...spoken.replace(/[^\p{L}\p{N}_'()&+-]+/gu, ' ').trim()].slice(0, NAME_MAX).join('')
}
