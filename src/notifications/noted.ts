// R78: what calls find out, in memory until a task tells it: so much of a project that none takes the places of others,
// and so much in all. Pure.
export interface Bounds {
  of_project_max: number
  of_all_max: number
}

interface Note<One> {
  project_id: string
  one: One
}

export function noted<One>({ of_project_max, of_all_max }: Bounds) {
  const notes = new Map<string, Note<One>>()
  const counts = new Map<string, number>() // by project

  return {
    /** In the place of what is noted under the name. Beyond a bound nothing new is noted. */
    note(name: string, { project_id, one }: Note<One>): void {
      const known = notes.get(name)
      const count = counts.get(project_id) ?? 0
      if (known) notes.set(name, { project_id: known.project_id, one })
      else if (count < of_project_max && notes.size < of_all_max) {
        notes.set(name, { project_id, one })
        counts.set(project_id, count + 1)
      }
    },

    has: (name: string): boolean => notes.has(name),

    all: (): [name: string, one: One][] => [...notes].map(([name, { one }]) => [name, one]),

    /** It was told; what was noted under the name meanwhile stays. */
    told(name: string, one: One): void {
      const note = notes.get(name)
      if (note?.one !== one) return
      notes.delete(name)
      const left = (counts.get(note.project_id) ?? 0) - 1
      if (left > 0) counts.set(note.project_id, left)
      else counts.delete(note.project_id)
    },
  }
}
