// Which of the forms that we have a client takes: the smallest that its Accept-Encoding allows.
export const CODINGS = ['br', 'gzip', 'identity'] as const // smallest first
export type Coding = (typeof CODINGS)[number]

export function contentCoding(accept_encoding: string | undefined): Coding {
  const accepted = new Set(
    (accept_encoding ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((said) => said.trim()))
      .filter(([, quality = 'q=1']) => !/^q=0(\.0*)?$/.test(quality))
      .map(([name]) => name),
  )
  return CODINGS.find((coding) => accepted.has(coding)) ?? 'identity'
}
