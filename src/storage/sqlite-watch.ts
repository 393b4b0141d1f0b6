// Tells whoever has read something from the embedded store that it may have changed. Triggers note it: they belong to
// the writer's connection, through which every write of this process goes, and are silent where other columns change.
import type { Columns } from './db.ts'
import type { Connection } from './sqlite-connection.ts'

interface Watcher {
  changed(): void
  /** By what is being committed. */
  is_touched: boolean
}

export function sqliteWatch({ connection }: Pick<Connection, 'connection'>) {
  const watchers: Watcher[] = []
  const version = connection.prepare('PRAGMA data_version')
  const versionNow = () => version.get()?.data_version
  let seen = versionNow()
  connection.function('note_touched', (at: number) => {
    ;(watchers[at] as Watcher).is_touched = true
    return null
  })

  return {
    watch(columns: Columns, changed: () => void, added: readonly string[] = []): void {
      const at = watchers.push({ changed, is_touched: false }) - 1
      for (const [table, names] of Object.entries(columns))
        for (const [what, event] of [
          ['changed', `UPDATE OF ${names.join(', ')}`],
          ['deleted', 'DELETE'],
          ...(added.includes(table) ? [['added', 'INSERT']] : []),
        ])
          connection.exec(
            `CREATE TEMP TRIGGER watch_${at}_${table}_${what} AFTER ${event} ON main.${table}
             BEGIN SELECT note_touched(${at}); END`,
          )
    },

    /** Inside a transaction. Another process, such as `switchyard project create`, may have written before it. */
    lookForOthers(): void {
      const now = versionNow()
      if (now === seen) return
      seen = now
      for (const watcher of watchers) watcher.is_touched = true
    },

    /** After a transaction, however it ended. */
    tell(): void {
      for (const watcher of watchers) {
        if (!watcher.is_touched) continue
        watcher.is_touched = false
        watcher.changed()
      }
    },
  }
}
