// What is folded on a phone: a heading and its gist stand for the rest, which one tap unfolds. On wide screens all of
// it is there.
import { type ReactNode, useEffect, useId, useState } from 'react'
import { useIsNarrow } from '../state/narrow.ts'
import { noteUnfolded, wasUnfolded } from '../state/unfolded.ts'

interface FoldProps {
  title: string
  /** What is in it, or what it comes to, in a few words. */
  gist: string
  /** What it is about was asked for: it unfolds by itself. */
  is_open?: boolean
  children: ReactNode
}

/** A part of a card. On wide screens it needs no heading of its own. */
export const Fold = (props: FoldProps) => (useIsNarrow() ? <Folded {...props} /> : props.children)

/** What it holds is drawn once it is wanted, and not before; folded again, it keeps what was typed. */
export function Folded({ title, gist, is_open = false, children }: FoldProps) {
  const id = useId()
  const [open, setOpen] = useState(() => is_open || wasUnfolded(title))
  const [drawn, setDrawn] = useState(open)
  useEffect(() => {
    if (is_open) setOpen(true)
  }, [is_open])
  useEffect(() => {
    if (open) setDrawn(true)
  }, [open])
  function turn() {
    noteUnfolded(title, !open)
    setOpen(!open)
  }
  return (
    <div className="fold" data-open={open || undefined}>
      <h2 className="fold-title">
        <button type="button" aria-expanded={open} aria-controls={id} onClick={turn}>
          {title}
        </button>
      </h2>
      {!open && gist !== '' && <p className="fold-gist">{gist}</p>}
      <div id={id} hidden={!open}>
        {(open || drawn) && children}
      </div>
    </div>
  )
}
