// T-87: names that people gave, in a header. A header holds visible ASCII; whatever else a name has is percent-encoded
// as UTF-8 (RFC 3986), and so is the percent sign itself: decodeURIComponent gives the name back, every time.
const PLAIN = /^[\x20-\x24\x26-\x7e]*$/

export function inHeader(text: string): string {
  const plain = PLAIN.test(text) && text.trim() === text
  return plain ? text : text.toWellFormed().replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent)
}
