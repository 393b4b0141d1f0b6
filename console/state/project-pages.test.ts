// Which page of another project stands for one of this.
import { expect, test } from 'vitest'
import { samePageElsewhere } from './project-pages.ts'

test.each([
  ['/console/prj_a/keys', '', '/keys'],
  ['/console/prj_a', '', '/'],
  ['/console/prj_a/usage', '?range=90d&by=key_id&key_id=key_1&compare=yes', '/usage?range=90d&by=key_id&compare=yes'],
  ['/console/prj_a/requests', '?outcome=refused&cluster_id=byc_1', '/requests?outcome=refused'],
  ['/console/prj_a/keys/key_1', '?do=Revoke', '/keys'],
  ['/console/prj_a/traces/trc_1', '', '/requests'],
  ['/console/prj_a/settings/members', '', '/settings/members'],
  ['/console/prj_a/operator/prj_b', '', '/'],
])('§console 0356 in another project, %s%s is %s', (pathname, search, page) => {
  expect(samePageElsewhere(pathname, search)).toBe(page)
})
