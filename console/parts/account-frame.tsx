// The frame of the pages for people who are not signed in: one card, one thing to do.

import { type ReactNode, useEffect } from 'react'
import { titleWindow } from '../state/window-title.ts'
import { Brand } from './brand.tsx'

export function AccountFrame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    titleWindow(title)
  }, [title])
  return (
    <main className="alone">
      <Brand />
      <div className="card stack">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}

/** A form that sends by itself: the browser never does. */
export function AccountForm({ onSubmit, children }: { onSubmit(): void; children: ReactNode }) {
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}
