// The room of contents: sealed bytes that are too large for a row, for each room that keeps some. What is written, and
// what is let go, is written down first; the sweep erases whatever nobody has.
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import type { Db } from '../storage/db.ts'
import {
  type Content,
  type ContentPlaces,
  type Keeper,
  type KeptContents,
  openedContent,
  sealedContent,
} from './content.ts'
import { AT_ONCE, allErased, looseContents } from './loose-content-store.ts'

export interface ContentNeeds {
  db: Db
  clock: Clock
  seals: Sealing
  places: ContentPlaces
}

const CONTENT_ID_LENGTH = 32

export function contentRoom({ db, clock, seals, places }: ContentNeeds) {
  const loose = looseContents(places, clock)
  /** Where that fails, it is written down: the sweep comes back to it. */
  const eraseNow = (content: Content) => loose.erase(db, content).catch(() => {})

  return {
    /** The contents of one room. */
    of: (kept_for: Keeper): KeptContents<Db> => ({
      async write(project_id, plain) {
        const content = { content_id: randomBase62(CONTENT_ID_LENGTH), place: places.place }
        await loose.begin(db, kept_for, content)
        try {
          const sealed = sealedContent(seals, { project_id, content_id: content.content_id }, plain)
          await loose.at(content.place).write(content.content_id, sealed)
          return content
        } catch (error) {
          await loose.letGo(db, { project_id, kept_for }, content).then(
            () => eraseNow(content),
            () => {},
          )
          throw error
        }
      },
      settle: loose.settle,
      letGo: (tx, project_id, content) => loose.letGo(tx, { project_id, kept_for }, content),
      erase: eraseNow,
      due: (tx, project_id) => loose.countDue(tx, { project_id, kept_for }),
      async eraseDue(project_id) {
        for (let found = AT_ONCE; found === AT_ONCE; ) {
          const due = await loose.dueOf(db, { project_id, kept_for })
          await allErased(due.map((content) => loose.erase(db, content)))
          found = due.length
        }
      },
      read: (project_id, { content_id, place }, bytes) =>
        openedContent(seals, { project_id, content_id, bytes }, loose.at(place).read(content_id)),
    }),

    nobodyWrites: () => loose.nobodyWrites(db),

    async sweep(on: Db): Promise<void> {
      while (await loose.sweep(on));
    },
  }
}
