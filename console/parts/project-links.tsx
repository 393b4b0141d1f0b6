// The projects that somebody can go to, by their names.
import type { SignedIn } from '../api/account-calls.ts'
import { Link, pageOf } from '../state/navigation.tsx'

export const ProjectLinks = ({ projects }: Pick<SignedIn, 'projects'>) =>
  projects.length > 0 && (
    <ul className="stack" aria-label="Your projects">
      {projects.map(({ id, name }) => (
        <li key={id}>
          <Link to={pageOf(id, '/')}>{name}</Link>
        </li>
      ))}
    </ul>
  )
