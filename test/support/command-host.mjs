// Runs the compiled command again and again in one process: `node command-host.mjs <program>`. Each run has arguments,
// settings, a folder and streams of its own, and its entry is loaded anew; only what the entry loads stays loaded. To
// start a process and to load everything takes most commands longer than what they do.
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [, , program = ''] = process.argv
const entry = pathToFileURL(program).href
let loaded = 0

/** Since a command believes that it is alone, one waits for the other. */
let last = Promise.resolve()
process.on('message', (told) => {
  last = last.then(async () => void process.send({ run: told.run, ended: await ended(told) }))
})

async function ended({ args, env, folder, input }) {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    replace(
      name,
      heardBy((text) => (said[name] += text)),
    )
  replace('stdin', Readable.from(input === '' ? [] : [input]))
  process.chdir(folder)
  process.env = env
  process.argv = [process.execPath, program, ...args]
  process.exitCode = undefined
  const code = await new Promise((exited) => {
    process.exit = (given) => exited(given ?? process.exitCode ?? 0)
    import(`${entry}?${++loaded}`).catch((error) => {
      said.stderr += `${error.stack}\n`
      exited(1)
    })
  })
  process.exitCode = undefined
  return { code, ...said }
}

const replace = (name, value) => Object.defineProperty(process, name, { value, configurable: true })

const heardBy = (hear) =>
  new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      hear(String(text))
      done()
    },
  })
