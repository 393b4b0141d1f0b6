// Code to take along, with a button that takes it.
import { CopyButton } from './copy-button.tsx'

export function CodeBlock({ code, what }: { code: string; what: string }) {
  return (
    <div className="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section tabIndex={0} aria-label={what} className="code-scroll">
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton text={code} what={what} />
    </div>
  )
}
