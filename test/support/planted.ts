// Tests of tests: that a gate catches the bug which it is there for. They show nothing of the product, so on a machine that
// is slow a run goes without those that start servers (machine-speed.ts).
import { test } from 'vitest'

export const planted = test.skipIf(process.env.TEST_PLANTED === 'no')
