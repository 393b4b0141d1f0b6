// A real Redis or Valkey for tests: the one that TEST_REDIS_URL names, else one of our own, from a program on this
// machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { endsWithUs } from './ends-with-us.ts'
import { freePort } from './free-port.ts'
import { need } from './provision.ts'

export interface RedisServer {
  url: string
  /** Without a word, as a crash would; nothing of what it held is kept. */
  kill(): Promise<void>
  /** Starts it again, empty, at the same address. */
  start(): Promise<void>
  /** Stopped in its tracks: its address still accepts, nothing answers. */
  pause(): void
  resume(): void
  flush(): Promise<void>
  stop(): Promise<void>
}

export async function redisServer(note: (text: string) => void = () => {}): Promise<RedisServer> {
  const given = process.env.TEST_REDIS_URL
  if (given) {
    const notOurs = () => {
      throw new Error('the Redis of TEST_REDIS_URL is not ours to stop: unset it for this test')
    }
    const none = { kill: notOurs, start: notOurs, pause: notOurs, resume: notOurs, flush: notOurs }
    return { url: given, ...none, stop: async () => {} }
  }
  const binary = await need('Redis', note)
  note(`Redis from ${binary}`)
  return startRedis(binary)
}

/** For what must kill, pause or flush it: always one of our own. */
export async function ownRedisServer(): Promise<RedisServer> {
  return startRedis(await need('Redis'))
}

// A node of a cluster flushes its list of nodes to disk, and answers nobody meanwhile: in memory that costs nothing.
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** `more`: further settings of its own. */
export async function startRedis(binary: string, more: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(SCRATCH, 'switchyard-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const usual = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'].map(String)
  const settings = [...usual, ...more]
  let child: ChildProcess
  const gone = async () => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  const server: RedisServer = {
    url,
    async kill() {
      child.kill('SIGKILL')
      await gone()
    },
    async start() {
      child = spawn(binary, settings, { stdio: 'ignore' })
      endsWithUs(child, { folder })
      await untilAnswering(url)
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    flush: () => onServer(url, async (redis) => void (await redis.flushall())),
    async stop() {
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

export async function onServer<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  try {
    await redis.connect()
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

async function untilAnswering(url: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      return await onServer(url, async (redis) => void (await redis.ping()))
    } catch {
      await sleep(50)
    }
  }
  throw new Error('Redis did not start within 10 s')
}
