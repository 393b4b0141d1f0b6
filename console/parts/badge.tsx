// A word about a state. The word carries the meaning; its colour only helps.
export type Tone = 'good' | 'warn' | 'bad' | 'calm'

export const Badge = ({ tone = 'calm', children }: { tone?: Tone; children: string }) => (
  <span className={`badge badge-${tone}`}>{children}</span>
)
