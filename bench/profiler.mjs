// Loaded before the service by `npm run bench -- profile`: SIGUSR2 starts V8's sampling profiler, and the next one stops
// it and writes what it saw. A profile from the start of the process would show the compiler at work, not the service.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 200 })
let running = false

process.on('SIGUSR2', async () => {
  if (!running) {
    running = true
    return void (await session.post('Profiler.start'))
  }
  const { profile } = await session.post('Profiler.stop')
  running = false
  writeFileSync(process.env.PROFILE_FILE ?? 'service.cpuprofile', JSON.stringify(profile))
})
