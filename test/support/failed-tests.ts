/** What a run of vitest left as its JSON report, as far as it is read here. */
export interface Report {
  numPassedTests?: number
  numFailedTests?: number
  numPendingTests?: number
  numTotalTests?: number
  testResults?: {
    name: string
    status: string
    /** Why the file could not be loaded, where it could not. */
    message?: string
    assertionResults: { fullName: string; status: string; failureMessages?: string[] | null }[]
  }[]
}

const MOST_LINES = 12

/** Each test that failed, by its file and name, with the first lines of why. */
export function failedTests(report: Report, root: string): string[] {
  return (report.testResults ?? []).flatMap((file) => {
    const path = file.name.startsWith(`${root}/`) ? file.name.slice(root.length + 1) : file.name
    const failed = file.assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && file.status === 'failed') return [`${path}\n${firstLines(file.message ?? '')}`]
    return failed.map((test) => `${path} > ${test.fullName}\n${firstLines((test.failureMessages ?? []).join('\n'))}`)
  })
}

function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('/node_modules/'))
  return lines
    .slice(0, MOST_LINES)
    .map((line) => `    ${line}`)
    .join('\n')
}
