// §8.2.3: groups of usage that were added up in parts, put together again, in the order of the statement for all.
import { GROUPS, type UsageGroup, type UsageQuestion } from './usage-query.ts'
import { AMOUNTS } from './usage-rollup.ts'

export type GroupRow = Omit<UsageGroup, 'object'>
export type Groups = Pick<UsageQuestion, 'group_by' | 'group_tag'>

const SUMMED = ['events', ...AMOUNTS] as const

/** By what, in the order of the columns. */
export const groupNames = ({ group_by, group_tag }: Groups) => [
  ...GROUPS.filter((name) => group_by.includes(name)),
  ...(group_tag === undefined ? [] : (['tag'] as const)),
]

export function groupSums(groups: Groups) {
  const names = groupNames(groups)
  const all = new Map<string, GroupRow>()
  return {
    add(rows: readonly GroupRow[]): void {
      for (const row of rows) {
        const key = JSON.stringify(names.map((name) => row[name]))
        const sum = all.get(key)
        if (sum) for (const name of SUMMED) sum[name] += row[name]
        else all.set(key, row)
      }
    },

    /** The latest day first, then the dearest. What was taken off until nothing was left is none. */
    newest: (most?: number): GroupRow[] =>
      [...all.values()]
        .filter(({ events }) => events > 0)
        .sort(
          (a, b) =>
            compared(b.day, a.day) ||
            b.charged_micros - a.charged_micros ||
            names.reduce((order, name) => order || compared(a[name], b[name]), 0),
        )
        .slice(0, most),
  }
}

const compared = (a = '' as string | null, b = '' as string | null) =>
  (a ?? '') < (b ?? '') ? -1 : Number((a ?? '') > (b ?? ''))
