// A build in parts, of which only those are made whose inputs changed. What was built from what is written down once a
// part is whole and in place, so that a build that was killed is not taken for one that is done.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {readonly string[]} inputs Files and folders, relative to the root.
 * @property {(path: string) => boolean} counts Which files of those folders count.
 * @property {readonly string[]} outputs Folders in `dist` that belong to this part alone.
 * @property {(folder: string) => Promise<void>} make Makes all outputs in an empty folder.
 */

const FOLDER = 'dist/.build' // beside the outputs: what is moved has to be on the same disk
const LOCK_WAIT_MS = 600_000

/**
 * Makes the parts that are not up to date; says which.
 * @param {readonly Part[]} parts
 * @param {{ root?: string, say?: (text: string) => void }} [options]
 * @returns {Promise<string[]>}
 */
export async function build(parts, { root = process.cwd(), say = () => {} } = {}) {
  if (staleOf(root, parts).length === 0) return []
  const unlock = await lock(join(root, FOLDER), say)
  try {
    const stale = staleOf(root, parts) // another build may have made them meanwhile
    if (stale.length > 0) say(`building ${stale.map(({ name }) => name).join(' and ')} …`)
    const ends = await Promise.allSettled(stale.map((part) => make(root, part)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return stale.map(({ name }) => name)
  } finally {
    unlock()
  }
}

/** The operating system lets go of this lock however the process ends; whoever comes second waits. */
async function lock(folder, say) {
  mkdirSync(folder, { recursive: true })
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(join(folder, 'lock'))
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch {
    say('waiting for another build …')
    db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    db.exec('BEGIN EXCLUSIVE')
  }
  return () => db.close()
}

async function make(root, part) {
  const inputs = Object.fromEntries(inputsOf(root, part).map(([path, stat]) => [path, [...stat, hashOf(root, path)]]))
  // Its own: the compilers of a build that was killed may still be writing to theirs.
  const folder = join(root, FOLDER, `${part.name}-${process.pid}`)
  rmSync(stampFile(root, part), { force: true }) // from here until the end, nothing says that it is done
  removeLeftovers(root, part)
  mkdirSync(folder, { recursive: true })
  await part.make(folder)
  // Whole folders are exchanged: what a deleted source left behind goes with the old one.
  for (const output of part.outputs) {
    const [place, old] = [join(root, 'dist', output), join(folder, `${output}.old`)]
    if (existsSync(place)) renameSync(place, old)
    renameSync(join(folder, output), place)
  }
  rmSync(folder, { recursive: true, force: true })
  writeStamp(root, part, { inputs, outputs: Object.fromEntries(outputsOf(root, part)) })
}

function removeLeftovers(root, { name }) {
  for (const entry of readdirSync(join(root, FOLDER)).filter((entry) => entry.startsWith(`${name}-`)))
    try {
      rmSync(join(root, FOLDER, entry), { recursive: true, force: true })
    } catch {
      // Still being written to. The next build removes it.
    }
}

const staleOf = (root, parts) => parts.filter((part) => !isFresh(root, part))

function isFresh(root, part) {
  const stamp = readStamp(root, part)
  if (!stamp || !isSame(stamp.outputs, outputsOf(root, part), ([size], [now]) => size === now)) return false
  const inputs = inputsOf(root, part)
  let touched = false
  const same = isSame(stamp.inputs, inputs, (then, now, path) => {
    if (now.every((value, index) => value === then[index])) return true
    touched = true
    return then[0] === now[0] && then.at(-1) === hashOf(root, path)
  })
  // A checkout or a copy gives files new times. They are noted, so that nobody reads the files again next time.
  if (same && touched)
    writeStamp(root, part, {
      inputs: Object.fromEntries(inputs.map(([path, stat]) => [path, [...stat, stamp.inputs[path].at(-1)]])),
      outputs: stamp.outputs,
    })
  return same
}

function isSame(then, now, equal) {
  return (
    now.length === Object.keys(then).length && now.every(([path, stat]) => then[path] && equal(then[path], stat, path))
  )
}

const inputsOf = (root, { inputs, counts }) =>
  inputs.flatMap((path) => filesIn(root, path).filter(counts)).map((path) => [path, statOf(root, path)])

const outputsOf = (root, { outputs }) =>
  outputs.flatMap((output) => filesIn(root, join('dist', output))).map((path) => [path, statOf(root, path)])

/** @returns {string[]} The file itself, or every file in the folder; none where there is nothing. */
export function filesIn(root, path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat ? [path] : []
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(root, join(path, entry.name)) : [join(path, entry.name)],
  )
}

function statOf(root, path) {
  const { size, mtimeMs, ctimeMs } = statSync(join(root, path))
  return [size, mtimeMs, ctimeMs]
}

const hashOf = (root, path) =>
  createHash('sha256')
    .update(readFileSync(join(root, path)))
    .digest('base64')

const stampFile = (root, { name }) => join(root, FOLDER, `${name}.json`)

function readStamp(root, part) {
  try {
    return JSON.parse(readFileSync(stampFile(root, part), 'utf8'))
  } catch {
    return undefined
  }
}

/** Written beside and moved into place: nobody reads half of one. */
function writeStamp(root, part, stamp) {
  const file = stampFile(root, part)
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(draft, JSON.stringify(stamp))
  renameSync(draft, file)
}
