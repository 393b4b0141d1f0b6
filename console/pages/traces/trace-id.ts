// A trace, request or response id in whatever was pasted: alone, in a header line, in a log line, in an address. A
// trace id that stands beside a request id is of the same generation, or of the one that a replay repeats.
export const traceIn = (text: string): string | undefined =>
  (/\btrc_[0-9A-Za-z]+/.exec(text) ?? /\breq_[0-9A-Za-z]+/.exec(text) ?? /\bresp_\w+/.exec(text))?.[0]
