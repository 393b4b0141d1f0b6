// What of a step's requests failed. A client that hung up is no failure of ours, and is told apart. Pure.
import type { UsageStep } from '../../api/timeline-calls.ts'

export const leftIn = ({ by_status }: Pick<UsageStep, 'by_status'>) => by_status.client_left ?? 0

export const failedIn = (step: Pick<UsageStep, 'errors' | 'by_status'>) => Math.max(0, step.errors - leftIn(step))
