// A project with hundreds of keys and thousands of usage events: no page draws or asks for more than it shows.
// `npm run console:full-house` measures the same with 10,000 and a million.
import { afterAll, expect, test } from 'vitest'
import { sized } from '../support/sizes.ts'
import { faults, withConsole } from './checks.ts'
import { fillHouse, signIn } from './house.ts'
import { fillJobs } from './house-jobs.ts'
import { housePages } from './house-pages.ts'
import { modelUpstream } from './model-upstream.ts'
import { measurePage } from './page-figures.ts'

const SIZE = { keys: 500, events: sized(5_000, 2_000), clusters: 12, refusals: 500 }
const LOOK_MS = 100 // no time is measured here
const EVERY = Number(process.env.HOUSE_PAGES_EVERY ?? 1) // a slow machine looks at some of its pages
const ELEMENTS_MAX = 2_000 // 500 rows of keys would be 10,000
const ANSWERS_MAX_BYTES = 350_000
const BY_KEY_MAX_BYTES = 700_000 // where keys are compared, each is told with its sums

let upstream: Awaited<ReturnType<typeof modelUpstream>>
afterAll(() => upstream?.close())

withConsole(
  (scene) => {
    test('§console with many keys and events every page stays small, and what people do there is done', async () => {
      const house = await fillHouse(scene().db(), SIZE)
      const cookie = await signIn(scene(), house)
      const jobs = await fillJobs(scene(), house, { cookie, provider_url: upstream.base_url })
      const cookies = { owner: cookie, operator: jobs.operator_cookie }
      const too_much: string[] = []
      for (const [at, page] of housePages({ ...house, ...jobs }).entries()) {
        if (at % EVERY !== 0) continue
        const who = page.by === 'nobody' ? {} : { cookie: cookies[page.by ?? 'owner'] }
        const visit = await scene().arrive({ ...who, viewport: { width: 1280, height: 800 } })
        const { elements, answer_bytes, act } = await measurePage(visit.page, page, LOOK_MS)
        if (Math.max(elements, act?.elements ?? 0) > ELEMENTS_MAX) too_much.push(`${page.name}: ${elements} elements`)
        const bytes_max = page.name.includes('by key') ? BY_KEY_MAX_BYTES : ANSWERS_MAX_BYTES
        if (answer_bytes > bytes_max) too_much.push(`${page.name}: ${answer_bytes} bytes`)
        too_much.push(...faults(visit).map((fault) => `${page.name}: ${fault}`))
        await visit.close()
      }
      expect(too_much).toEqual([])
    }, 600_000)
  },
  async () => {
    upstream = await modelUpstream({ records: true })
    return upstream.env
  },
)
