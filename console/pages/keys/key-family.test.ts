// R60, R64, R65: families of keys as the list shows them.
import { expect, test } from 'vitest'
import type { ApiKey } from '../../api/key-calls.ts'
import { carvedOf, families, levelOf } from './key-family.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')

const key = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  id,
  object: 'api_key',
  project_id: 'prj_1',
  name: id,
  masked: 'svc_live_abcd…wxyz',
  scopes: ['inference'],
  status: 'active',
  created_at: '2026-11-15T11:00:00.000Z',
  spent_micros: 0,
  ...more,
})
const child = (id: string, more: Partial<ApiKey> = {}) => key(id, { parent_id: 'a', budget_micros: 10, ...more })

test('R64 children stand behind their parent, in the order of the list; one whose parent is gone stands alone', () => {
  const rows = families([child('c2'), key('b'), key('stray', { parent_id: 'gone' }), child('c1'), key('a')], NOW)
  expect(rows.map(({ id, parent_name }) => [id, parent_name])).toEqual([
    ['b', undefined],
    ['stray', undefined],
    ['a', undefined],
    ['c2', 'a'],
    ['c1', 'a'],
  ])
})

test('R64 a parent holds what its live children have left, and nothing of those that ended', () => {
  const children = [
    child('spent', { spent_micros: 4 }),
    child('over', { expires_at: '2026-11-15T12:00:00.000Z' }),
    child('revoked', { status: 'revoked' }),
  ]
  expect(carvedOf(children, NOW)).toEqual({ live_children: 1, carved_micros: 6 })
})

test('R60 a key whose time is over is expired from that millisecond on; a revoked one stays revoked', () => {
  const at = (expires_at: string, status: ApiKey['status'] = 'active') =>
    families([key('k', { expires_at, status })], NOW)[0]?.state
  expect(at('2026-11-15T12:00:00.001Z')).toBe('active')
  expect(at('2026-11-15T12:00:00.000Z')).toBe('expired')
  expect(at('2026-11-15T11:00:00.000Z', 'revoked')).toBe('revoked')
})

test('R65 the worse of two limits counts, with what is carved out', () => {
  const window = { period: 'day' as const, limit_micros: 100, spent_micros: 50, resets_at: '2026-11-16T00:00:00Z' }
  const level = (more: Partial<ApiKey>, children: ApiKey[] = []) => {
    const [row] = families([key('a', more), ...children], NOW)
    return row && levelOf(row)
  }
  expect(level({ window })).toBe('fine')
  expect(level({ window: { ...window, spent_micros: 100 }, budget_micros: 1_000 })).toBe('reached')
  expect(level({ window, budget_micros: 10, spent_micros: 9 })).toBe('near')
  expect(level({ budget_micros: 10 }, [child('c')])).toBe('reached')
})
