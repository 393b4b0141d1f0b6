// Where mails go: to an SMTP server, or, where none is set, into files of their own and the log, so that every flow
// works on the embedded default too.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { createTransport } from 'nodemailer'
import { type Clock, rfc3339, SECOND_MS } from '../core/clock.ts'
import { messageOf, type Sender } from './message.ts'
import type { Mail } from './outbox-store.ts'

/** THE PORT: rejects where the mail did not get away, with a MailRefused where that says nothing of any other. */
export type Deliver = (mail: Mail, id: string) => Promise<void>

/** Of this recipient, or of what is in it. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

const CONNECT_MS = 10 * SECOND_MS
const SILENCE_MS = 20 * SECOND_MS

export function bySmtp(smtp_url: string, public_url: string, clock: Clock): Deliver {
  const { url, from } = smtpSettings(smtp_url)
  const sender = senderOf(public_url, from)
  const times = { connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: SILENCE_MS }
  let transport: ReturnType<typeof createTransport> | undefined
  return async (mail, id) => {
    const envelope = { from: sender.address, to: mail.to }
    transport ??= (await import('nodemailer')).createTransport({ url, ...times }) // few servers send any
    const raw = messageOf(mail, id, sender, clock.now())
    await transport.sendMail({ envelope, raw }).catch((error: SmtpFailure) => {
      throw isOfThisMail(error) ? new MailRefused(error.message, { cause: error }) : error
    })
  }
}

type SmtpFailure = Error & { code?: string; command?: string }

/** The relay talks to us, and took our sender: it is the recipient that it does not want, or the message. */
const isOfThisMail = ({ code, command }: SmtpFailure) =>
  code === 'EMESSAGE' || (code === 'EENVELOPE' && command !== 'MAIL FROM')

/** `?from=` is ours; what else stands behind the question mark is for the SMTP library. */
function smtpSettings(smtp_url: string): { url: string; from: string | undefined } {
  const url = new URL(smtp_url)
  const from = url.searchParams.get('from') ?? undefined
  url.searchParams.delete('from')
  return { url: url.href, from }
}

/** Whoever reads the folder can open the links: it is the owner's alone, like the store beside it. */
export function toFiles(folder: string, public_url: string, clock: Clock, log: FastifyBaseLogger): Deliver {
  const sender = senderOf(public_url)
  return async (mail, id) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const now = clock.now()
    const file = join(folder, `${rfc3339(now).replaceAll(':', '-')}-${id}.eml`)
    writeFileSync(file, messageOf(mail, id, sender, now), { mode: 0o600 })
    log.info({ to: mail.to, subject: mail.subject, link: mail.link, file }, 'no SMTP_URL: the mail is in a file')
  }
}

export const toLog =
  (log: FastifyBaseLogger): Deliver =>
  async ({ to, subject, link }) =>
    log.info({ to, subject, link }, 'no SMTP_URL: the mail is in the log alone')

function senderOf(public_url: string, from?: string): Sender {
  const address = from ?? `no-reply@${new URL(public_url).hostname.replace(/^\[.*\]$/, 'localhost')}`
  return { address, domain: address.split('@').at(-1) ?? 'localhost' }
}
