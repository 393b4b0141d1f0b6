/** What a run of vitest left as its JSON report, as far as it is read here. */
export interface Report {
  testResults?: FileResult[]
}

interface FileResult {
  name: string
  status: string
  /** Why the file could not be loaded, where it could not. */
  message?: string
  assertionResults: { fullName: string; status: string; failureMessages?: string[] | null }[]
}

/** Those that failed are named by file and test, with the first lines of why. */
export interface Outcome {
  passed: number
  skipped: number
  failed: string[]
  /** They failed, and passed when their files were run again. */
  flaky: string[]
}

const MOST_LINES = 12

/** What came of a run, and of those of its files that were run again because something in them failed. */
export function outcomeOf(report: Report, again: Report, root: string): Outcome {
  const outcome: Outcome = { passed: 0, skipped: 0, failed: [], flaky: [] }
  for (const file of report.testResults ?? []) {
    const path = file.name.startsWith(`${root}/`) ? file.name.slice(root.length + 1) : file.name
    const second = again.testResults?.find(({ name }) => name === file.name)
    if (!isUnloaded(file)) addTests(outcome, path, file, second)
    else if (!second || isUnloaded(second)) outcome.failed.push(`${path}\n${firstLines(file.message ?? '')}`)
    else {
      outcome.flaky.push(`${path}\n${firstLines(file.message ?? '')}`)
      addTests(outcome, path, second)
    }
  }
  return outcome
}

function addTests(outcome: Outcome, path: string, file: FileResult, second?: FileResult): void {
  const passedAgain = (fullName: string) =>
    second?.assertionResults.some((test) => test.fullName === fullName && test.status === 'passed') === true
  for (const { fullName, status, failureMessages } of file.assertionResults) {
    if (status === 'passed') outcome.passed++
    else if (status !== 'failed') outcome.skipped++
    else {
      const told = `${path} > ${fullName}\n${firstLines((failureMessages ?? []).join('\n'))}`
      if (passedAgain(fullName)) outcome.flaky.push(told)
      else outcome.failed.push(told)
    }
  }
}

/** The files to run again. */
export const filesThatFailed = (report: Report): string[] =>
  (report.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name)

function isUnloaded({ status, assertionResults }: FileResult): boolean {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
}

function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('/node_modules/'))
  return lines
    .slice(0, MOST_LINES)
    .map((line) => `    ${line}`)
    .join('\n')
}
