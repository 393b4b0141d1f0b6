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

export const schemaOf = (database_url: string) => /search_path(?:=|%3D)(\w+)/.exec(database_url)?.[1] ?? ''

/** Into a scene whose servers have not started. */
export async function restore(scene: Scene, { sql }: Fixture): Promise<void> {
  const { database_url } = scene
  await scene.write(database_url ? sql.replaceAll('SCHEMA_OF_THE_STORE', schemaOf(database_url)) : sql)
}
