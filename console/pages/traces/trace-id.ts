// A trace id in whatever was pasted: alone, in a header line, in a log line, in an address.
export const traceIn = (text: string): string | undefined => /\btrc_[0-9A-Za-z]+/.exec(text)?.[0]
