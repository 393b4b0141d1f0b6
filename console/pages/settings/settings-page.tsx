// Settings: one page in sections, each with an address of its own.
import { type ComponentType, lazy, Suspense } from 'react'
import { PageHeader } from '../../parts/page-header.tsx'
import { Link } from '../../state/navigation.tsx'
import { useMe } from '../../state/session.tsx'

interface Section {
  id: string
  label: string
  Content: ComponentType
}

const SECTIONS: readonly [Section, ...Section[]] = [
  { id: 'project', label: 'Project', Content: lazy(() => import('./project-section.tsx')) },
  { id: 'members', label: 'Members', Content: lazy(() => import('./members-section.tsx')) },
  { id: 'credentials', label: 'Credentials', Content: lazy(() => import('./credentials-section.tsx')) },
  { id: 'subscriptions', label: 'Subscriptions', Content: lazy(() => import('./subscriptions-section.tsx')) },
  { id: 'tags', label: 'Tags', Content: lazy(() => import('./tags-section.tsx')) },
  { id: 'purges', label: 'Purges', Content: lazy(() => import('./purges-section.tsx')) },
  { id: 'gateway', label: 'Gateway and limits', Content: lazy(() => import('./gateway-section.tsx')) },
  { id: 'audit', label: 'Audit log', Content: lazy(() => import('./audit-section.tsx')) },
  { id: 'account', label: 'Your account', Content: lazy(() => import('./account-section.tsx')) },
]

/** On a narrow screen the sections are wider than it; the one that is open is in sight. */
const intoView = (link: HTMLAnchorElement | null) => link?.scrollIntoView({ block: 'nearest', inline: 'center' })

export default function SettingsPage({ section }: { section?: string }) {
  const { project } = useMe()
  const chosen = SECTIONS.find(({ id }) => id === section) ?? SECTIONS[0]
  return (
    <>
      <PageHeader
        title={chosen === SECTIONS[0] ? 'Settings' : `Settings: ${chosen.label}`}
        lead={
          project?.role === 'owner' ? undefined : (
            <p>You are a {project?.role} here. Owners change settings; you can look at them.</p>
          )
        }
      />
      <nav aria-label="Settings" className="sections">
        {SECTIONS.map(({ id, label }, at) => (
          <Link
            key={id}
            to={at === 0 ? '/settings' : `/settings/${id}`}
            aria-current={chosen.id === id ? 'page' : undefined}
            ref={chosen.id === id ? intoView : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Suspense
        fallback={
          <p className="waiting" role="status">
            Loading …
          </p>
        }
      >
        <chosen.Content />
      </Suspense>
    </>
  )
}
