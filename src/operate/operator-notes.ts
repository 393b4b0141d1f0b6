// R79: what the operator does from the machine itself is on record in the concerned project, and in the operator's own.
import { operatorStore } from '../accounts/operator-store.ts'
import { entryOf } from '../audit/audit.ts'
import { auditStore } from '../audit/audit-store.ts'
import { newId } from '../core/ids.ts'
import type { Db } from '../storage/db.ts'

export interface OperatorsDeed {
  project_id: string
  action: string
  target: string
}

export async function noteDeed(tx: Db, { project_id, action, target }: OperatorsDeed, now: number): Promise<void> {
  const request_id = newId('req')
  const logs = new Set([project_id, (await operatorStore(tx).projectId()) ?? project_id])
  for (const log of logs)
    await auditStore(tx).insert(entryOf({ project_id: log, actor: 'operator', action, target, request_id }, now))
}
