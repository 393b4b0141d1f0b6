// One box for everything: pages, keys by name or by a pasted secret, requests by id, aliases, clusters, people, deeds.
import { Fragment, useCallback, useEffect, useRef, useState } from 'react'
import { listClusters } from './api/cluster-calls.ts'
import { listKeys } from './api/key-calls.ts'
import { listAliases } from './api/routing-calls.ts'
import { listMembers } from './api/settings-calls.ts'
import { NAVIGATION } from './pages.tsx'
import { type Entry, entriesFor, type Known, secretEntries } from './palette-entries.ts'
import { useOptionList } from './parts/option-list.tsx'
import { navigate } from './state/navigation.tsx'
import { canHash, keyWithSecret, secretIn } from './state/pasted-secret.ts'
import { useResource } from './state/resource.ts'
import { useIsOperator, useMay } from './state/session.tsx'

export default function CommandPalette({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const secret = useSecret()
  const known = useKnown(text)
  const entries = secret.entries ?? entriesFor(text, known)
  useModal(dialog)

  function choose(at: number) {
    const entry = entries[at]
    if (!entry) return
    onClose()
    navigate(entry.to)
  }
  const options = useOptionList({ count: entries.length, of: secret.entries ? 'secret' : text, onChoose: choose })

  /** What is typed or pasted. A secret never gets into the box. */
  function take(typed: string): void {
    const found = secretIn(typed)
    void secret.look(found)
    setText(found === undefined ? typed : '')
  }

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Search everything"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onPointerDown={(event) => event.target === dialog.current && onClose()}
    >
      <input
        type="text"
        className="palette-box"
        aria-label="Search everything"
        placeholder="A page, a key, a request id, a leaked secret, “revoke …”"
        autoComplete="off"
        spellCheck={false}
        value={text}
        {...options.box}
        onChange={(event) => take(event.target.value)}
        onPaste={(event) => {
          const pasted = event.clipboardData.getData('text')
          if (secretIn(pasted) === undefined) return
          event.preventDefault()
          take(pasted)
        }}
        onKeyDown={options.onKey}
      />
      <p className="palette-said" role="status" aria-live="polite">
        {secret.said ?? told(entries.length, text)}
      </p>
      <Results entries={entries} options={options} />
    </dialog>
  )
}

function Results({ entries, options }: { entries: readonly Entry[]; options: ReturnType<typeof useOptionList> }) {
  return (
    <ul {...options.list} className="palette-list" aria-label="Results" hidden={entries.length === 0}>
      {entries.map(({ group, label, hint, to }, at) => (
        <Fragment key={`${group} ${label} ${to}`}>
          {entries[at - 1]?.group !== group && (
            <li role="presentation" className="palette-group">
              {group}
            </li>
          )}
          <li {...options.option(at)}>
            <span>{label}</span>
            {hint !== undefined && <span className="muted">{hint}</span>}
          </li>
        </Fragment>
      ))}
    </ul>
  )
}

const told = (found: number, text: string) =>
  text.trim() === '' ? '' : found === 0 ? 'Nothing matches.' : found === 1 ? '1 result' : `${found} results`

/** The browser keeps the focus inside, and what had it gets it back unless a page takes it. */
function useModal(dialog: { current: HTMLDialogElement | null }): void {
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
    }
  }, [dialog])
}

interface Looked {
  said: string
  entries: readonly Entry[]
}

/** Whose secret was pasted. The secret itself is kept nowhere. */
function useSecret() {
  const [looked, setLooked] = useState<Looked>()
  const asking = useRef<AbortController>(undefined)
  const may_manage = useMay('admin')

  async function look(secret: string | undefined): Promise<void> {
    asking.current?.abort()
    const controller = new AbortController()
    const { signal } = controller
    asking.current = controller
    if (secret === undefined) setLooked(undefined)
    else {
      setLooked({ said: 'Looking for the key of this secret …', entries: [] })
      const told = await whose(secret, signal, may_manage)
      if (!signal.aborted) setLooked(told)
    }
  }
  return { said: looked?.said, entries: looked?.entries, look }
}

async function whose(secret: string, signal: AbortSignal, may_manage: boolean): Promise<Looked> {
  if (!canHash()) return { said: NOT_HERE, entries: [] }
  try {
    const key = await keyWithSecret(secret, signal)
    if (!key) return { said: NOBODYS, entries: [] }
    return { said: `This is the secret of ${key.name}. It was not sent.`, entries: secretEntries(key, may_manage) }
  } catch {
    return { said: 'The key could not be looked for. Try again.', entries: [] }
  }
}

const NOBODYS = 'No key of this project has this secret. It may be of another project, or revoked already.'
const NOT_HERE = 'A secret is hashed before it is looked for, and browsers do that over HTTPS only.'

/** Lists are asked for once somebody types: most only go to a page. */
function useKnown(text: string): Known {
  const is_operator = useIsOperator()
  const may_manage = useMay('admin')
  const typing = text.trim().length > 0
  const lists = useResource<Pick<Known, 'keys' | 'aliases' | 'clusters' | 'people'>>(
    useCallback(
      async (signal, tell) => {
        if (!typing) return NONE
        const [aliases, clusters, people] = await Promise.all([
          listAliases(signal),
          listClusters(signal),
          listMembers(signal),
        ])
        const keys = await listKeys(signal, (some) => tell({ keys: some, aliases, clusters, people }))
        return { keys, aliases, clusters, people }
      },
      [typing],
    ),
    { keep: true },
  )
  const pages = NAVIGATION.filter(({ operator }) => !operator || is_operator).map(({ to, label, keys }) => ({
    group: 'Pages',
    label,
    to,
    hint: keys,
  }))
  return { ...(lists.state.kind === 'ready' ? lists.state.value : NONE), pages, may_manage }
}

const NONE = { keys: [], aliases: [], clusters: [], people: [] }
