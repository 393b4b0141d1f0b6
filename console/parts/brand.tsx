// The name and its mark: a track that leaves another.
export const Brand = () => (
  <span className="brand">
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="brand-ground" />
      <path d="M6 22h20M6 22c8 0 8-12 20-12" className="brand-tracks" />
    </svg>
    Switchyard
  </span>
)
