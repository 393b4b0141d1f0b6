// A small SMTP server on loopback: takes mails, or refuses them as it is told.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  from: string
  to: string
  data: string
}

interface Behaviour {
  /** What a mail's end is answered with. */
  answer: string
  /** Addresses that begin so are refused, wherever they are named. */
  refuses?: string
  /** How often that was. */
  refused?: number
}

export async function smtpServer(behaviour: Behaviour = { answer: '250 taken' }) {
  const received: Received[] = []
  const server = createServer((socket) => converse(socket, behaviour, received))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `smtp://127.0.0.1:${port}?ignoreTLS=true`, received, behaviour }
}

function converse(socket: Socket, behaviour: Behaviour, received: Received[]): void {
  const say = (text: string) => socket.write(`${text}\r\n`)
  let mail: Received = { from: '', to: '', data: '' }
  let inData = false
  let pending = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    pending += chunk
    for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
      const line = pending.slice(0, end)
      pending = pending.slice(end + 2)
      if (inData && line !== '.') mail.data += `${line.replace(/^\./, '')}\r\n`
      else if (inData) {
        inData = false
        if (behaviour.answer.startsWith('2')) received.push(mail)
        mail = { from: '', to: '', data: '' }
        say(behaviour.answer)
      } else command(line)
    }
  })
  function command(line: string): void {
    const [, address = ''] = /<(.*)>/.exec(line) ?? []
    if (behaviour.refuses !== undefined && address.startsWith(behaviour.refuses)) {
      behaviour.refused = (behaviour.refused ?? 0) + 1
      return void say('550 not here')
    }
    if (/^MAIL/i.test(line)) mail.from = address
    if (/^RCPT/i.test(line)) mail.to = address
    inData = /^DATA/i.test(line)
    if (/^QUIT/i.test(line)) return void socket.end('221 bye\r\n')
    say(inData ? '354 go on' : '250 ok')
  }
  say('220 test')
}
