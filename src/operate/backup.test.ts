// Backup and restore, on whichever engine this run is for.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ENGINE } from '../../test/support/databases.ts'
import { newSettings } from '../../test/support/settings.ts'
import { keptArtifacts } from '../artifacts/kept-artifact-store.ts'
import { contentRoom } from '../contents/kept-content-store.ts'
import { systemClock } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { hashKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { keptRecordings } from '../recordings/kept-recording-store.ts'
import type { Config } from '../start/config.ts'
import { noConfigFile } from '../start/config-file.ts'
import { keptQuotas } from '../start/kept-quotas.ts'
import { openContents } from '../start/open-contents.ts'
import { openStore } from '../start/open-store.ts'
import { lockFolder, storeFile } from '../storage/data-folder.ts'
import { sql } from '../storage/db.ts'
import { backUp, restore } from './backup.ts'
import { createProject } from './operate.ts'

const { env } = process
// PostgreSQL's binaries from npm come without pg_dump; with any other installation the whole suite runs.
const hasTools = ENGINE === 'sqlite' || !spawnSync('pg_dump', ['--version']).error

let projects = 0
const found = async (config: Config) =>
  (await createProject(config, { name: 'home', owner_email: `a${++projects}@example.com`, verified: true })).key

async function knows(config: Config, key: string): Promise<boolean> {
  const { db } = await openStore(config, systemClock)
  const holder = await keyStore(db).findHolder(hashKey(key), systemClock.now())
  await db.close()
  return holder !== undefined
}

/** Beside the data folder, in the test's own folder. */
const beside = (config: Config, name: string) => join(dirname(config.data_dir), name)

describe.skipIf(!hasTools)(ENGINE, () => {
  test('§4 a backup holds what was there when it was taken, and nothing that came after', async () => {
    const config = await newSettings()
    const before = await found(config)
    const file = beside(config, "monday's")
    // Taken while somebody has the store open, as a server would.
    const { db } = await openStore(config, systemClock)
    expect(await backUp(config, file, false, env)).toBe(statSync(file).size)
    await db.close()
    const after = await found(config)

    await restore(config, file, env)
    expect([await knows(config, before), await knows(config, after)]).toEqual([true, false])
    await restore(config, file, env)
    expect(await knows(config, before)).toBe(true)
  })

  test('§4 a backup is restored into an empty place, and wants its secret there', async () => {
    const config = await newSettings()
    const key = await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    const elsewhere = await newSettings()
    await restore(elsewhere, file, env)
    await expect(knows(elsewhere, key)).rejects.toThrow('sealed with another secret')
    const secret = readFileSync(join(config.data_dir, 'secret'), 'utf8')
    expect(await knows({ ...elsewhere, secret }, key)).toBe(true)
  })

  test('§4 a backup is for its owner alone, and leaves nothing half written', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    expect(readdirSync(dirname(file)).sort()).toEqual(['b', 'data'])
  })

  test('§4 a file that is there is replaced only when told so', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'mine')
    writeFileSync(file, 'precious')
    await expect(backUp(config, file, false, env)).rejects.toThrow(/mine exists\. Give --force/)
    expect(readFileSync(file, 'utf8')).toBe('precious')
    await backUp(config, file, true, env)
    await restore(config, file, env)
    await expect(backUp(config, beside(config, 'no/where'), false, env)).rejects.toThrow(/^There is no folder/)
  })

  test('§4 what is not a sound backup is refused, and the store stays as it was', async () => {
    const config = await newSettings()
    const key = await found(config)
    const file = beside(config, 'wrong')
    for (const contents of ['', 'garbage', randomBytes(20_000)]) {
      writeFileSync(file, contents)
      await expect(restore(config, file, env)).rejects.toMatchObject({ name: 'OperationError' })
    }
    expect(await knows(config, key)).toBe(true)
    expect(readdirSync(config.data_dir).filter((name) => /^\.|before/.test(name))).toEqual([])
  })

  // Guards against a store that is replaced under a server which goes on with the old one.
  test('§4 nothing is restored while somebody serves the store', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    const after = await found(config)
    const { db } = await openStore(config, systemClock)
    const { unlock } = lockFolder(config.data_dir)
    await expect(restore(config, file, env)).rejects.toThrow(/^Another switchyard/)
    unlock()
    await db.close()
    expect(await knows(config, after)).toBe(true)
  })
})

if (ENGINE === 'postgres') {
  test('§4 without its programs on PATH, PostgreSQL is neither backed up nor restored, and the message says why', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'b')
    const nowhere = { ...env, PATH: '/nowhere' }
    await expect(backUp(config, file, false, nowhere)).rejects.toThrow(
      /^pg_dump was not found on PATH.*postgresql-client/,
    )
    expect(existsSync(file)).toBe(false)
    writeFileSync(file, 'x')
    await expect(restore(config, file, nowhere)).rejects.toThrow(
      /^pg_restore was not found on PATH.* of the server's own major version .*"Backup and restore" in docs/,
    )
  })

  test('§4 a database without a store is not backed up', async () => {
    const config = await newSettings()
    await expect(backUp(config, beside(config, 'b'), false, env)).rejects.toThrow(/^There is no Switchyard store/)
    expect(readdirSync(dirname(config.data_dir))).toEqual([])
  })

  // Guards against a password that anybody on the machine could read in the list of processes.
  test('§4 the password goes to pg_dump in its environment, not among its arguments', async () => {
    const config = await newSettings()
    await found(config)
    const url = new URL(config.database_url ?? '')
    url.password ||= 'pass word'
    const bin = beside(config, 'bin')
    const seen = beside(config, 'seen')
    mkdirSync(bin)
    writeFileSync(join(bin, 'pg_dump'), `#!/bin/sh\necho "$PGPASSWORD | $*" > ${seen}\n`, { mode: 0o755 })
    const tools = { ...env, PATH: `${bin}:${env.PATH}` }
    await backUp({ ...config, database_url: url.href }, beside(config, 'b'), false, tools)
    const [password, args] = readFileSync(seen, 'utf8').split(' | ')
    expect(password).toBe(decodeURIComponent(url.password))
    expect(args).toMatch(/^--dbname=postgres\S+ --no-password --format=custom/)
    expect(args).not.toContain(url.password)
  })
}

if (ENGINE === 'sqlite') {
  test('§artifacts a backup holds the contents that lie beside the store, and a store made from it has them', async () => {
    const config = await newSettings()
    await found(config)
    const secret = readFileSync(join(config.data_dir, 'secret'), 'utf8').trim()
    const artifactsOf = async ({ data_dir }: Config) => {
      const { db } = await openStore({ ...config, data_dir, secret }, systemClock)
      const places = openContents(db, data_dir, undefined)
      const contents = contentRoom({ db, clock: systemClock, seals: sealing(secret), places }).of('artifacts')
      const quota = { take: async () => {}, giveBack: async () => {} }
      return { db, ...keptArtifacts({ db, clock: systemClock, contents, quota }) }
    }
    const text = Buffer.alloc(600_000, 'kept beside')
    const here = await artifactsOf(config)
    const [{ id: project_id } = { id: '' }] = await here.db.rows<{ id: string }>(sql`SELECT id FROM project`)
    const facts = { kind: 'text' as const, name: null, media_type: 'text/plain', bytes: text.length, sha256: 'abc' }
    const maker = { made_by: 'key_a', made_under: null }
    const { id } = await here.keep(project_id, { ...facts, expires_after_ms: undefined, maker, parts: [text] })
    await here.db.close()
    await backUp(config, beside(config, 'b'), false, env)
    const elsewhere = await newSettings()
    await restore(elsewhere, beside(config, 'b'), env)
    const there = await artifactsOf(elsewhere)
    const stored = await there.find(there.db, project_id, id)
    const parts: Buffer[] = []
    if (stored) for await (const part of there.contentOf(stored)) parts.push(part)
    await there.db.close()
    expect(Buffer.concat(parts).equals(text)).toBe(true)
  })

  test('§8.2 a backup holds recordings whose packs lie beside the store', async () => {
    const config = await newSettings()
    await found(config)
    const secret = readFileSync(join(config.data_dir, 'secret'), 'utf8').trim()
    const recordingsOf = async ({ data_dir }: Config) => {
      const { db } = await openStore({ ...config, data_dir, secret }, systemClock)
      const common = { db, clock: systemClock, seals: sealing(secret) }
      const contents = contentRoom({ ...common, places: openContents(db, data_dir, undefined) }).of('recordings')
      const { recordings: quota } = keptQuotas(db, noConfigFile().quotas)
      const settings = { days: () => 30, isAllowed: () => true, onDrop: () => {}, onFailure: () => {} }
      return { db, ...keptRecordings({ ...common, contents, quota, ...settings }) }
    }
    const here = await recordingsOf(config)
    const [{ id: project_id } = { id: '' }] = await here.db.rows<{ id: string }>(sql`SELECT id FROM project`)
    const who = { project_id, key_id: 'key_a', made_by: 'key_a', made_under: null, endpoint: '/v1/embeddings' }
    const body = randomBytes(400_000)
    const tape = here.tapes.begin({ trace_id: 'trc_a', ...who }, body)
    tape.begin(200)
    tape.add(Buffer.from('[]'))
    here.tapes.end(tape)
    await here.tapes.drained()
    await here.db.close()
    await backUp(config, beside(config, 'b'), false, env)
    const elsewhere = await newSettings()
    await restore(elsewhere, beside(config, 'b'), env)
    const there = await recordingsOf(elsewhere)
    const read = await there.read(project_id, 'trc_a', there.room.place(project_id))
    await there.db.close()
    expect(body.equals(read?.request ?? Buffer.alloc(0))).toBe(true)
  })

  test('§4 the store that was there before is kept beside', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    const after = await found(config)
    const { kept = '' } = await restore(config, file, env)
    // The way back is the same command.
    await restore(config, kept, env)
    expect(await knows(config, after)).toBe(true)
  })

  // Whoever restores the wrong file tries the next one: what was there at first must not be lost by that.
  test('§4 a second restore keeps what the first one kept, and its own beside it', async () => {
    const config = await newSettings()
    await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    const original = await found(config)
    const { kept: first = '' } = await restore(config, file, env)
    const between = await found(config)
    const { kept: second = '' } = await restore(config, file, env)
    expect([first, second].map((kept) => kept.split('.db')[1])).toEqual(['.before-restore', '.before-restore-2'])
    await restore(config, first, env)
    expect([await knows(config, original), await knows(config, between)]).toEqual([true, false])
    // The one that is restored changes places with the present one; who is beside it stays.
    expect(await restore(config, second, env)).toEqual({ kept: second })
    expect([await knows(config, original), await knows(config, between)]).toEqual([false, true])
  })

  test('§4 one damaged page is found before anything is replaced', async () => {
    const config = await newSettings()
    const key = await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    const damaged = readFileSync(file)
    randomBytes(4_096).copy(damaged, 4_096 * 3)
    writeFileSync(file, damaged)
    await expect(restore(config, file, env)).rejects.toThrow(
      /b is not a sound backup of a Switchyard store: .*Nothing was/,
    )
    expect(await knows(config, key)).toBe(true)
  })

  test('§4 a damaged store, with a journal left behind, does not stand in the way of a good backup', async () => {
    const config = await newSettings()
    const key = await found(config)
    const file = beside(config, 'b')
    await backUp(config, file, false, env)
    for (const part of ['', '-wal']) writeFileSync(storeFile(config.data_dir) + part, randomBytes(20_000))
    await restore(config, file, env)
    expect(await knows(config, key)).toBe(true)
  })

  // Such a copy looks whole, but its last transactions are in the other file.
  test('§4 the bare copy of a store in use is refused', async () => {
    const config = await newSettings()
    await found(config)
    const { db } = await openStore(config, systemClock)
    const file = beside(config, 'copy')
    cpSync(storeFile(config.data_dir), file)
    writeFileSync(`${file}-wal`, 'frames')
    await db.close()
    await expect(restore(config, file, env)).rejects.toThrow(/copy is a store in use/)
  })

  test('§4 a folder without a store is not made one by backing it up', async () => {
    const config = await newSettings()
    await expect(backUp(config, beside(config, 'b'), false, env)).rejects.toThrow(/^There is no store in /)
    expect(existsSync(config.data_dir)).toBe(false)
  })
}
