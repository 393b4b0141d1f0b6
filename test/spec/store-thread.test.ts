// R78: what of the embedded store is read on its second thread, and what is not.
import { afterAll, expect, test } from 'vitest'
import { artifactStore } from '../../src/artifacts/artifact-store.ts'
import { leftByTags } from '../../src/budgets/tag-ledger-store.ts'
import { bundleStore } from '../../src/bundles/bundle-store.ts'
import { rfc3339 } from '../../src/core/clock.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { deliveryStore } from '../../src/notifications/delivery-store.ts'
import { purgeStore } from '../../src/purges/purge-store.ts'
import { recordingStore } from '../../src/recordings/recording-store.ts'
import { replayItemStore } from '../../src/replays/replay-item-store.ts'
import { replayStore } from '../../src/replays/replay-store.ts'
import { aside, type Db, sql } from '../../src/storage/db.ts'
import { NOON } from '../support/clock.ts'
import { freshDb } from '../support/databases.ts'

const { db, drop } = await freshDb('sqlite')
afterAll(drop)

const LOOK_UPS: Record<string, (db: Db) => Promise<unknown>> = {
  'an artifact': (db) => artifactStore(db).find('prj_1', 'art_1', rfc3339(NOON)),
  'an equal artifact': (db) => artifactStore(db).findEqual('prj_1', { sha256: 'x', kind: 'text' }),
  'a bundle': (db) => bundleStore(db).find('prj_1', 'bnd_1'),
  'an equal bundle': (db) => bundleStore(db).findEqual('prj_1', 'x'),
  'a key': (db) => keyStore(db).find('prj_1', 'key_1'),
  'what budgets of tags leave': (db) => leftByTags(db, 'prj_1', ['tbg_1', 'tbg_2']),
  'a delivery': (db) => deliveryStore(db).find('prj_1', 'chn_1', 'ndl_1'),
  'a purge job': (db) => purgeStore(db).find('prj_1', 'pgj_1'),
  'a replay run': (db) => replayStore(db).show('prj_1', 'rpl_1'),
  'an item of a replay run': (db) =>
    replayItemStore(db).find({ project_id: 'prj_1', run_id: 'rpl_1', trace_id: 'trc_1', arm: 'target' }),
  'a recording': (db) => recordingStore(db).find('prj_1', 'trc_1', 0),
}

test.each(Object.keys(LOOK_UPS))('R78 %s is found by its id while the thread reads something long', async (name) => {
  const order: string[] = []
  const long = db
    .rows(
      aside(sql`SELECT COUNT(*) AS counted FROM (
        WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < 200000)
        SELECT n FROM counting)`),
    )
    .then(() => order.push('long'))
  await LOOK_UPS[name]?.(db)
  order.push('found')
  await long
  expect(order).toEqual(['found', 'long'])
})
