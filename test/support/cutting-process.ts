// Cuts the packs of a project, and is killed at one of its steps: `cutting-process.ts <folder> <project> <step> [torn]`.
// With `every` for a step it lives on, and leaves beside the folder what a kill at each step would leave in it.
import { cpSync } from 'node:fs'
import { openCutting } from './cutting-store.ts'

const [, , folder = '', project_id = '', at = '', torn] = process.argv
let steps = -1 // not while it opens

const { db, recordings } = await openCutting(folder, {
  is_torn: torn === 'torn',
  step() {
    if (steps < 0) return
    steps++
    // What a killed process leaves is what its files hold at that moment, in the system's memory or on disk.
    if (at === 'every') cpSync(folder, `${folder}-${steps}`, { recursive: true })
    else if (steps === Number(at)) process.kill(process.pid, 'SIGKILL')
  },
})
steps = 0
await recordings.eraseCut(project_id)
await db.close()
