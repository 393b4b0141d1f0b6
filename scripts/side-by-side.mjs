// node scripts/side-by-side.mjs 'one command' 'another': runs all of them at once, prints what each said when it ends,
// and ends with 1 where any failed. The commands of npm's packages are found as in a script of package.json.
import { spawn } from 'node:child_process'

const running = new Set()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
for (const signal of signals)
  process.once(signal, () => {
    for (const child of running) child.kill(signal)
    process.exitCode = 1
  })

const ends = await Promise.all(process.argv.slice(2).map(run))
process.exitCode ||= ends.every((ok) => ok) ? 0 : 1

function run(command) {
  return new Promise((done) => {
    const child = spawn('sh', ['-c', `exec ${command}`], { stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    const parts = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part))
    child.once('close', (code) => {
      running.delete(child)
      process.stdout.write(Buffer.concat(parts))
      if (code !== 0) process.stderr.write(`FAILED: ${command}\n`)
      done(code === 0)
    })
  })
}
