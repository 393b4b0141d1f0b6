// Stores as an earlier version left them, in test/fixtures: `npm run upgrade-fixture` makes them anew.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Engine, Scene } from '../torture/scene.ts'
import type { Left } from './upgrade-story.ts'

export const FIXTURES = new URL('../fixtures/upgrade/', import.meta.url)

export interface Fixture {
  left: Left
  sql: string
}

export const fixtureBytes = (engine: Engine) => readFileSync(new URL(`${engine}.json.gz`, FIXTURES))
export const readFixture = (engine: Engine): Fixture => JSON.parse(gunzipSync(fixtureBytes(engine)).toString())

/** A test run's databases are copies of one that is migrated already; here it is the migration that is looked at. */
export async function emptied(scene: Scene): Promise<Scene> {
  if (scene.database_url) await scene.write('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  return scene
}

/** Into a scene whose servers have not started. */
export const restore = async (scene: Scene, { sql }: Fixture) => (await emptied(scene)).write(sql)
