// Pages of the audit log: none left out and none twice, also where many entries fall into one millisecond.
import { expect, test } from 'vitest'
import type { AuditEntry } from '../../api/settings-calls.ts'
import { auditQuery, NO_AUDIT_FILTER, withOlder } from './audit-pages.ts'

const entry = (id: string, created_at: string): AuditEntry => ({
  id,
  object: 'audit_entry',
  actor: 'usr_1',
  action: 'POST /v2/api-keys',
  request_id: 'req_1',
  created_at,
})
const A = entry('a', '2026-11-15T12:00:00.001Z')
const B = entry('b', '2026-11-15T12:00:00.000Z')
const C = entry('c', '2026-11-15T12:00:00.000Z')

test('§8.2 the next page begins with the millisecond in which the last one ended, and repeats nothing', () => {
  expect(auditQuery(NO_AUDIT_FILTER, B).to).toBe('2026-11-15T12:00:00.001Z')
  expect(withOlder([A, B], [B, C])).toEqual([A, B, C])
})

test('§8.2 days are whole and of UTC; what is empty is not asked', () => {
  expect(auditQuery(NO_AUDIT_FILTER, undefined)).toEqual({ limit: '500' })
  expect(auditQuery({ actor: ' usr_1 ', action: 'x', from: '2026-11-14', to: '2026-11-15' }, undefined)).toEqual({
    limit: '500',
    actor: 'usr_1',
    action: 'x',
    from: '2026-11-14T00:00:00Z',
    to: '2026-11-16T00:00:00.000Z',
  })
})
