// A share of a whole: words that say it all, and a bar for the eye.
import { wholePercent } from './measures.ts'

interface ShareMeterProps {
  label: string
  share: number
  /** More than the share itself, such as how much of what. */
  detail?: string
  /** To be full is what it is for. */
  is_progress?: boolean
}

const HIGH = 0.9

export const ShareMeter = ({ label, share, detail, is_progress = false }: ShareMeterProps) => (
  <div className="meter" data-high={(share >= HIGH && !is_progress) || undefined}>
    <span className="meter-text">
      <span className="muted">{label}</span> {wholePercent(share)}
      {detail && <span className="muted"> {detail}</span>}
    </span>
    <span className="meter-bar" aria-hidden="true">
      <span className="meter-share" style={{ width: `${Math.min(100, share * 100)}%` }} />
    </span>
  </div>
)
