// Copies a text. Over plain HTTP from another machine browsers have no clipboard for pages; then the old way is taken.
import { useState } from 'react'
import { Button } from './button.tsx'

interface CopyButtonProps {
  text: string
  /** What is copied, for people who cannot see what stands beside it. */
  what: string
  look?: 'plain' | 'primary' | 'quiet'
  onCopied?(): void
}

export function CopyButton({ text, what, look = 'plain', onCopied }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'failed'>()
  async function copy() {
    const copied = await copyText(text)
    setResult(copied ? 'copied' : 'failed')
    if (copied) onCopied?.()
  }
  return (
    <Button look={look} onClick={() => void copy()}>
      {result === 'copied' ? 'Copied' : result === 'failed' ? 'Select and copy by hand' : 'Copy'}
      <span className="visually-hidden" role="status">
        {result === undefined ? ` ${what}` : result === 'copied' ? `: ${what}` : ''}
      </span>
    </Button>
  )
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  // Inside an open dialog, nothing outside it can be selected.
  const home = document.querySelector('dialog[open]') ?? document.body
  home.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  return copied
}
