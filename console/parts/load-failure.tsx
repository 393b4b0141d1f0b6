// What could not be loaded, why, and how to try again.
import type { ApiError } from '../api/api-client.ts'
import { Button } from './button.tsx'

export const LoadFailure = ({ what, error, onRetry }: { what: string; error: ApiError; onRetry(): void }) => (
  <div className="notice notice-danger notice-row" role="alert">
    <span>
      <strong>{what} could not be loaded.</strong> {error.message}
    </span>
    <Button onClick={onRetry}>Try again</Button>
  </div>
)

/** What is shown is from before; a refresh failed. */
export const StaleNotice = ({ error, onRetry }: { error: ApiError | undefined; onRetry(): void }) =>
  error && (
    <div className="notice notice-warn notice-row" role="status">
      <span>This may be out of date. {error.message}</span>
      <Button onClick={onRetry}>Try again</Button>
    </div>
  )
