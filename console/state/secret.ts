// A secret that is shown once. React keeps earlier states for a while; what they keep is this box, and the box is empty
// once somebody said that they stored what was in it.
export interface Secret {
  /** Undefined once it was forgotten. */
  read(): string | undefined
  forget(): void
}

export function secretOf(text: string): Secret {
  let kept: string | undefined = text
  return {
    read: () => kept,
    forget() {
      kept = undefined
    },
  }
}
