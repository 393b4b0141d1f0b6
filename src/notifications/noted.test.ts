// R78: places for what calls find out: some of each project, some in all, and each comes free once it was told.
import { expect, test } from 'vitest'
import { noted } from './noted.ts'

const of = (project_id: string, one = project_id) => ({ project_id, one })

test('R78 a project has so many places, and all projects together', () => {
  const notes = noted<string>({ of_project_max: 2, of_all_max: 3 })
  for (const name of ['a1', 'a2', 'a3']) notes.note(name, of('a'))
  for (const name of ['b1', 'c1']) notes.note(name, of(name[0] ?? ''))
  expect(notes.all()).toEqual([
    ['a1', 'a'],
    ['a2', 'a'],
    ['b1', 'b'],
  ])
  notes.told('a1', 'a')
  notes.note('a3', of('a'))
  notes.note('a4', of('a'))
  expect(notes.all().map(([name]) => name)).toEqual(['a2', 'b1', 'a3'])
})

test('R78 the last under a name counts, where there is no room for others too; what came meanwhile was not told', () => {
  const notes = noted<string>({ of_project_max: 1, of_all_max: 1 })
  notes.note('a1', of('a', 'open'))
  const [[, one] = ['', '']] = notes.all()
  notes.note('a1', of('a', 'closed'))
  notes.told('a1', one)
  expect(notes.all()).toEqual([['a1', 'closed']])
  notes.told('a1', 'closed')
  expect(notes.all()).toEqual([])
})
