// Load from a process of its own, on bare sockets so that the generator is never what is measured. It takes plans over
// the channel to its parent, one after another, and stays warm between them.
import { runLoad } from './load-loops.ts'
import type { LoadPlan } from './load-plan.ts'

process.on('message', async (plan: LoadPlan) => {
  process.send?.(await runLoad(plan))
})
process.on('disconnect', () => process.exit(0))
