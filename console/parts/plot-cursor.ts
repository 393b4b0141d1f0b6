// Where somebody is in a chart: by the pointer, the arrow keys, or a stretch that is dragged over or selected.
import { type KeyboardEvent, type MouseEvent, type PointerEvent, useRef, useState } from 'react'
import { placeMs, type SeriesChartProps } from './chart-rows.ts'

/** Both ends included, in either order. */
export interface Selection {
  anchor: number
  to: number
}

type Moved = Pick<SeriesChartProps, 'starts' | 'step' | 'step_ms' | 'onPick' | 'onZoom'>
type Where = { clientX: number; currentTarget: HTMLElement }

export function usePlotCursor({ starts, onPick, onZoom, ...time }: Moved) {
  const [cursor, setCursor] = useState<number>()
  const [selected, setSelected] = useState<Selection>()
  const dragged = useRef(false)
  const last = starts.length - 1
  const at = cursor === undefined || cursor > last ? undefined : cursor

  function placeOf({ clientX, currentTarget }: Where): number {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.min(last, Math.max(0, Math.floor(((clientX - left) / width) * starts.length)))
  }

  function zoom({ anchor, to }: Selection) {
    setSelected(undefined)
    const [first, end] = [starts[Math.min(anchor, to)], starts[Math.max(anchor, to)]]
    if (first !== undefined && end !== undefined) onZoom?.(first, end + placeMs(time))
  }

  function leave() {
    setCursor(undefined)
    setSelected(undefined)
  }

  return {
    at,
    selected,
    last,
    handlers: {
      onFocus: () => setCursor(at ?? last),
      onBlur: leave,
      onKeyDown(event: KeyboardEvent) {
        const from = at ?? last
        const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key]
        if (event.key === 'Escape' && selected) setSelected(undefined)
        else if (event.key === 'Enter' && selected) zoom(selected)
        else if (event.key === 'Enter' && at !== undefined) onPick?.(at)
        if (next === undefined) return
        event.preventDefault()
        const to = Math.min(last, Math.max(0, next))
        setSelected(event.shiftKey && onZoom ? { anchor: selected?.anchor ?? from, to } : undefined)
        setCursor(to)
      },
      onPointerDown(event: PointerEvent<HTMLElement>) {
        dragged.current = false
        if (!onZoom || event.pointerType === 'touch' || event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        setSelected({ anchor: placeOf(event), to: placeOf(event) })
      },
      onPointerMove(event: PointerEvent<HTMLElement>) {
        if (event.pointerType === 'touch') return
        const place = placeOf(event)
        setCursor(place)
        if (selected && event.buttons === 1) setSelected({ ...selected, to: place })
      },
      onPointerUp() {
        dragged.current = selected !== undefined && selected.to !== selected.anchor
        if (selected && dragged.current) zoom(selected)
        else setSelected(undefined)
      },
      onPointerCancel: leave,
      onPointerLeave: (event: PointerEvent) => event.pointerType !== 'touch' && setCursor(undefined),
      /** A finger cannot hover: its first touch tells the numbers, the second opens. */
      onClick(event: MouseEvent<HTMLElement>) {
        if (dragged.current) return
        const place = placeOf(event)
        const touched =
          event.nativeEvent instanceof globalThis.PointerEvent && event.nativeEvent.pointerType === 'touch'
        if (touched && place !== at) setCursor(place)
        else onPick?.(place)
      },
    },
  }
}
