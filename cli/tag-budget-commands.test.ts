// tag-budget and usage by tags against a running server.
import { expect, test } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'

const { run, json } = commandsOfService()

test('§tags a tag budget from its making to its end; usage by tags', async () => {
  const { id } = await json('tag-budget create team=search 2.5')
  expect(await run('tag-budget list')).toEqual(
    done(expect.stringMatching(new RegExp(`^${id} +team=search +\\$2.50 `, 'm'))),
  )
  expect(await run(`tag-budget set ${id} 3`)).toEqual(done(expect.stringMatching(/^Limit +\$3\.00/m)))
  expect(await run('tag-budget create team=search 1')).toEqual(failed(1, /has one: change its limit/))
  expect((await run('usage --tag team=search --group-by day,tag:team')).code).toBe(0)
  expect(await run(`tag-budget delete ${id}`)).toEqual(done(`The tag budget ${id} is deleted.\n`))
})
