// Parts of the service that only some commands need. Loading them takes longer than most commands run.

import type * as Development from '../src/development.ts'
import type * as Server from '../src/main.ts'
import type * as Backup from '../src/operate/backup.ts'
import type * as Operate from '../src/operate/operate.ts'
import type * as OperateAccounts from '../src/operate/operate-accounts.ts'
import type * as OperateImport from '../src/operate/operate-import.ts'
import type * as OperatePlane from '../src/operate/operate-plane.ts'
import type * as OperateProjects from '../src/operate/operate-projects.ts'
import type * as OperateReceipts from '../src/operate/operate-receipts.ts'
import type * as OperateUsage from '../src/operate/operate-usage.ts'
import type * as Configuration from '../src/start/config.ts'
import type * as Gateway from '../src/start/gateway-settings.ts'
import type * as Prices from '../src/start/prices-file.ts'
import type * as Workers from '../src/start/workers.ts'
import type * as OneWorker from '../src/worker.ts'

export const backup = (): Promise<typeof Backup> => import('../src/operate/backup.ts')
export const configuration = (): Promise<typeof Configuration> => import('../src/start/config.ts')
export const development = (): Promise<typeof Development> => import('../src/development.ts')
export const gateway = (): Promise<typeof Gateway> => import('../src/start/gateway-settings.ts')
export const operate = (): Promise<typeof Operate> => import('../src/operate/operate.ts')
export const operateAccounts = (): Promise<typeof OperateAccounts> => import('../src/operate/operate-accounts.ts')
export const operateImport = (): Promise<typeof OperateImport> => import('../src/operate/operate-import.ts')
export const operatePlane = (): Promise<typeof OperatePlane> => import('../src/operate/operate-plane.ts')
export const operateProjects = (): Promise<typeof OperateProjects> => import('../src/operate/operate-projects.ts')
export const operateReceipts = (): Promise<typeof OperateReceipts> => import('../src/operate/operate-receipts.ts')
export const operateUsage = (): Promise<typeof OperateUsage> => import('../src/operate/operate-usage.ts')
export const prices = (): Promise<typeof Prices> => import('../src/start/prices-file.ts')
export const server = (): Promise<typeof Server> => import('../src/main.ts')
export const worker = (): Promise<typeof OneWorker> => import('../src/worker.ts')
export const workers = (): Promise<typeof Workers> => import('../src/start/workers.ts')
