// How an artifact comes to be and ends: its contents first, under an id that is written down, then its row; its row
// first, then its contents. So there is never a row without its contents, and contents without a row are swept.
import type { Content, KeptContents } from '../contents/content.ts'
import { type Clock, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import type { Maker } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import { CommitUnknown, type Db, unavailable } from '../storage/db.ts'
import { type Artifact, createArtifact, type Uploaded } from './artifact.ts'
import { artifactStore, type StoredArtifact } from './artifact-store.ts'

/** R70: taken and given back in the transaction of what is added or goes, so that it is exact. */
export interface ArtifactQuota {
  /** Throws the 429. */
  take(tx: Db, project_id: string, bytes: number): Promise<void>
  giveBack(tx: Db, project_id: string, bytes: number): Promise<void>
}

export interface KeptNeeds {
  db: Db
  clock: Clock
  contents: KeptContents<Db>
  quota: ArtifactQuota
}

export interface Upload extends Uploaded {
  maker: Maker
  parts: readonly Buffer[]
}

const TRIES = 5 // against others who delete what we find
const USES_MAX = 10_000
const SWEPT_AT_ONCE = 100
const RECENT_BYTES = 32 * 2 ** 20
const RECENT_EACH_BYTES = RECENT_BYTES / 4
const USE_WRITTEN_AFTER_MS = MINUTE_MS

export type KeptArtifacts = ReturnType<typeof keptArtifacts>

export function keptArtifacts({ db, clock, contents, quota }: KeptNeeds) {
  const uses = new Map<string, { project_id: string; id: string; used_at: string }>()
  const written = new Map<string, number>()
  const recent = recentContents()
  const nowText = () => rfc3339(clock.now())

  /** The artifact that the project has already, noted as uploaded by this maker too; undefined where it is gone. */
  async function joinedBy(tx: Db, found: StoredArtifact, upload: Upload): Promise<Artifact | undefined> {
    const { project_id, id } = found.artifact
    const rows = artifactStore(tx)
    if (!(await rows.lock(project_id, id))) return undefined
    await rows.addMaker(project_id, id, upload.maker)
    await rows.keepUntil(project_id, id, createArtifact(project_id, upload, clock.now()).expires_at)
    return (await rows.find(project_id, id, nowText()))?.artifact
  }

  /** With its contents on their way out. The row first, then the quota: whoever else does both does so too. */
  async function take(tx: Db, project_id: string, id: string): Promise<StoredArtifact | undefined> {
    const removed = await artifactStore(tx).remove(project_id, id)
    if (!removed) return undefined
    await contents.letGo(tx, project_id, removed)
    await quota.giveBack(tx, project_id, removed.artifact.bytes)
    return removed
  }

  const isOver = async (tx: Db, { artifact: { project_id, id, expires_at } }: StoredArtifact) =>
    expires_at !== null && expires_at <= nowText() && !(await artifactStore(tx).isInBundle(project_id, id))

  async function claim(tx: Db, project_id: string, upload: Upload, content: Content): Promise<Claim> {
    const rows = artifactStore(tx)
    const found = await rows.findEqual(project_id, upload)
    if (found && (await isOver(tx, found))) await take(tx, project_id, found.artifact.id)
    else if (found) {
      const artifact = await joinedBy(tx, found, upload)
      if (!artifact) throw new Met()
      await contents.letGo(tx, project_id, content)
      return { artifact, is_new: false }
    }
    const artifact = createArtifact(project_id, upload, clock.now())
    if (!(await rows.insert(artifact, content, clock.now()))) throw new Met()
    if (!(await contents.settle(tx, content))) throw unavailable(new Error('the sweep took what was being written'))
    await rows.addMaker(project_id, artifact.id, upload.maker)
    await quota.take(tx, project_id, artifact.bytes)
    return { artifact, is_new: true }
  }

  async function claimed(project_id: string, upload: Upload, content: Content): Promise<Claim> {
    for (let tries = 1; ; tries++) {
      try {
        return await db.transaction((tx) => claim(tx, project_id, upload, content))
      } catch (error) {
        if (!(error instanceof Met)) throw error
        if (tries === TRIES) throw unavailable(error)
      }
    }
  }

  return {
    /** The one of these bytes and this kind that the project has, made where it had none. */
    async keep(project_id: string, upload: Upload): Promise<Artifact> {
      const known = await artifactStore(db).findEqual(project_id, upload)
      const isThere = known && !(await isOver(db, known))
      const joined = isThere && (await db.transaction((tx) => joinedBy(tx, known, upload)))
      if (joined) return joined
      const content = await contents.write(project_id, upload.parts)
      try {
        const { artifact, is_new } = await claimed(project_id, upload, content)
        if (!is_new) await contents.erase(content)
        return artifact
      } catch (error) {
        // Where nobody knows whether it was committed, a row may have it; else nobody does, and the sweep comes to it.
        if (!(error instanceof CommitUnknown))
          await contents.letGo(db, project_id, content).then(
            () => contents.erase(content),
            () => {},
          )
        throw error
      }
    },

    find: (on: Db, project_id: string, id: string) => artifactStore(on).find(project_id, id, nowText()),

    /** Its bytes, a part at a time. */
    contentOf({ artifact: { project_id, bytes }, place, content_id }: StoredArtifact): AsyncIterable<Buffer> {
      return contents.read(project_id, { place, content_id }, bytes)
    },

    /** All of them; what is asked for often is remembered. It never changes, so it cannot be out of date. */
    async bytesOf(stored: StoredArtifact): Promise<Buffer> {
      const known = recent.get(stored.content_id)
      if (known) return known
      const parts: Buffer[] = []
      for await (const part of this.contentOf(stored)) parts.push(part)
      const content = Buffer.concat(parts)
      recent.set(stored.content_id, content)
      return content
    },

    /** False where there is none. */
    async remove(project_id: string, id: string): Promise<boolean> {
      const removed = await db.transaction(async (tx) => {
        if (!(await artifactStore(tx).lock(project_id, id))) return undefined
        if (await artifactStore(tx).isInBundle(project_id, id)) throw inUse(id)
        return take(tx, project_id, id)
      })
      if (removed) await contents.erase(removed)
      return removed !== undefined
    },

    /**
     * For purge jobs: with every bundle that is made of it. Its contents are due, and erased by `eraseTaken`. Returns
     * how many bundles went.
     */
    async takeWithBundles(tx: Db, project_id: string, id: string): Promise<number> {
      if (!(await artifactStore(tx).lock(project_id, id))) return 0
      const bundles = await artifactStore(tx).removeBundlesOf(project_id, id)
      const taken = await take(tx, project_id, id)
      if (taken) recent.drop(taken.content_id)
      return bundles
    },

    /** Contents of a project that are due. Where one cannot be reached, the others are erased all the same. */
    eraseTaken: contents.eraseDue,

    /** How many of them there are. */
    taken: contents.due,

    /** Written a little later, by `flushUses`. */
    used(project_id: string, id: string): void {
      const now = clock.now()
      if (now - (written.get(id) ?? 0) < USE_WRITTEN_AFTER_MS || uses.size >= USES_MAX) return
      uses.set(id, { project_id, id, used_at: rfc3339(now) })
    },

    async flushUses(): Promise<void> {
      if (written.size > USES_MAX) written.clear()
      for (const [name, { project_id, id, used_at }] of [...uses]) {
        uses.delete(name)
        written.set(id, clock.now())
        await artifactStore(db).noteUse(project_id, id, used_at)
      }
    },

    async sweep(on: Db): Promise<void> {
      for (let found = SWEPT_AT_ONCE; found === SWEPT_AT_ONCE; ) {
        const expired = await artifactStore(on).expired(nowText(), SWEPT_AT_ONCE)
        for (const { project_id, id } of expired)
          await on.transaction(async (tx) => {
            const rows = artifactStore(tx)
            if ((await rows.lock(project_id, id)) && !(await rows.isInBundle(project_id, id)))
              await take(tx, project_id, id)
          })
        found = expired.length
      }
    },
  }
}

/** Those used last, up to a bound in bytes. */
function recentContents() {
  const contents = new Map<string, Buffer>()
  let bytes = 0
  return {
    get(content_id: string): Buffer | undefined {
      const content = contents.get(content_id)
      if (content && contents.delete(content_id)) contents.set(content_id, content)
      return content
    },
    drop(content_id: string): void {
      bytes -= contents.get(content_id)?.length ?? 0
      contents.delete(content_id)
    },
    set(content_id: string, content: Buffer): void {
      if (content.length > RECENT_EACH_BYTES || contents.has(content_id)) return
      contents.set(content_id, content)
      bytes += content.length
      for (const [oldest, { length }] of contents) {
        if (bytes <= RECENT_BYTES) return
        contents.delete(oldest)
        bytes -= length
      }
    },
  }
}

interface Claim {
  artifact: Artifact
  is_new: boolean
}

/** Somebody else uploads or deletes the same bytes: what they did is there by the time we look again. */
class Met extends Error {}

const inUse = (id: string) =>
  new Refusal('invalid_request', `The artifact '${id}' is part of a bundle. Delete that first (GET /v2/bundles).`)
