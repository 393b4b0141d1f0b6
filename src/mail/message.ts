// A mail as it travels (RFC 5322): plain text, nothing to fetch, nothing to click but what it says.
import type { Mail } from './outbox-store.ts'

export interface Sender {
  /** `no-reply@example.com` */
  address: string
  /** Names the sender in Message-IDs. */
  domain: string
}

const CRLF = '\r\n'

export function messageOf({ to, subject, text }: Mail, id: string, sender: Sender, now: number): string {
  const isAscii = Buffer.byteLength(text) === text.length
  const headers = [
    `From: Switchyard <${sender.address}>`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}@${sender.domain}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Transfer-Encoding: ${isAscii ? '7bit' : 'base64'}`,
  ]
  const body = isAscii ? text.replace(/\r?\n/g, CRLF) : inLines(Buffer.from(text).toString('base64'))
  return [...headers, '', body].join(CRLF)
}

const inLines = (text: string) => `${text.replace(/.{76}/g, `$&${CRLF}`)}${CRLF}`
