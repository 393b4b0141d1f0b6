// Cuts the packs of a project, and is killed at one of its steps: `cutting-process.ts <folder> <project> <step> [torn]`.
import { openCutting } from './cutting-store.ts'

const [, , folder = '', project_id = '', kill_at = '', torn] = process.argv
let steps = -1 // not while it opens

const { db, recordings } = await openCutting(folder, {
  is_torn: torn === 'torn',
  step() {
    if (steps >= 0 && ++steps === Number(kill_at)) process.kill(process.pid, 'SIGKILL')
  },
})
steps = 0
await recordings.eraseCut(project_id)
await db.close()
