// purge and receipt against a running server: output for people, JSON for programs, exit codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'

const { run, json } = commandsOfService()
const folder = mkdtempSync(join(tmpdir(), 'switchyard-purge-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, contents: string): string {
  const path = join(folder, name)
  writeFileSync(path, contents)
  return path
}

test('§8.1 purge from plan to receipt, and the receipt verified by the service and with the secret', async () => {
  const { id: artifact } = await json(`artifact upload ${file('rules.md', 'Be careful.')}`)
  const plan = await json(`purge plan --artifact ${artifact} --kind artifacts`)
  expect(plan).toMatchObject({ status: 'planned', kinds: [{ kind: 'artifacts', matched: 1, erased: 0, remaining: 1 }] })
  expect(await run(`purge show ${plan.id}`)).toEqual(done(expect.stringMatching(/^artifacts +1 +0 +1$/m)))
  const receipt = await json(`purge erase ${plan.id}`)
  expect(receipt).toMatchObject({ object: 'purge_receipt', erased: [{ kind: 'artifacts', count: 1 }] })
  expect(await run(`artifact show ${artifact}`)).toEqual(failed(1, /\(404 /))
  expect(await run('purge list')).toEqual(done(expect.stringMatching(new RegExp(`^${plan.id} +succeeded `, 'm'))))
  const good = file('receipt.json', JSON.stringify(receipt, null, 2))
  const bad = file('forged.json', JSON.stringify({ ...receipt, erased: [] }))
  for (const how of ['', ' --local']) {
    expect(await run(`receipt verify ${good}${how}`)).toEqual(done('The receipt is as it was signed.\n'))
    expect(await run(`receipt verify ${bad}${how}`)).toEqual(failed(1, /not signed by this server/))
  }
  expect(await run(`receipt verify ${file('none.txt', 'none')}`)).toEqual(failed(2, /not JSON/))
})

test('§8.1 purge says what is missing, and cancels', async () => {
  expect(await run('purge erase')).toEqual(failed(2, /give a plan or a filter/))
  expect(await run('purge plan')).toEqual(failed(1, /'filter' must name ids/))
  expect(await run('purge plan --everything')).toEqual(failed(1, /'confirm' must be the project's name/))
  const { id } = await json('purge plan --key key_1b2c3d4e5f6g7h8i9j0k')
  expect(await run(`purge cancel ${id}`)).toEqual(done(expect.stringMatching(/^Status +cancelled$/m)))
  expect(await run(`purge erase ${id}`)).toEqual(failed(1, /is cancelled; it must be planned/))
  const told = await run('purge erase --from 2020-01-01T00:00:00Z --to 2020-01-02T00:00:00Z')
  expect(told).toEqual(done(expect.stringMatching(/^KIND +ERASED\nresponses +0\n/)))
})
