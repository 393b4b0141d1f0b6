// What a run started ends with it, however the run ends: one that gets SIGTERM, or is killed, leaves no database, no
// server and no folder behind. A listener for the exit is not enough: it is not heard in a worker's thread.
import { type ChildProcess, spawn } from 'node:child_process'

interface Ending {
  /** PostgreSQL's own processes end with SIGQUIT, not with SIGKILL. */
  signal?: 'KILL' | 'QUIT'
  /** Removed afterwards. */
  folder?: string | undefined
}

// Its input ends with whoever holds the other end. Then nothing of ours need run any more.
const WATCH = `read _
kill -s "$0" "$1" && while kill -0 "$1"; do sleep 0.1; done
[ -z "$2" ] || rm -rf "$2"`

export function endsWithUs(child: ChildProcess, { signal = 'KILL', folder = '' }: Ending = {}): void {
  if (child.pid === undefined) return
  const watch = spawn('sh', ['-c', WATCH, signal, String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // what ends our group, such as an interrupt, leaves it to do its work
  })
  watch.unref()
  ;(watch.stdin as unknown as { unref(): void }).unref()
  child.once('exit', () => void watch.kill('SIGKILL'))
}
