// What of an address means something in another project too: the page, a period, how it is added up. Things have their
// ids in one project alone, and so have the filters that name them. Pure.
const KEPT = ['range', 'from', 'to', 'by', 'measure', 'compare', 'outcome', 'layer', 'action']

/** Whose pages stand below another name than their list. */
const LISTS: Readonly<Record<string, string>> = { traces: 'requests' }

/** The page that another project has in place of this one: of a thing, the list that it stands in. */
export function samePageElsewhere(pathname: string, search: string): string {
  const [page = '', ...below] = pathname.split('/').slice(1).filter(isPage)
  if (['', 'operator', 'providers'].includes(page)) return '/'
  const of_thing = below.length > 0 && page !== 'settings'
  const path = page === 'settings' ? [page, ...below] : [LISTS[page] ?? page]
  const query = of_thing ? '' : keptOf(search)
  return `/${path.join('/')}${query && `?${query}`}`
}

const isPage = (part: string, at: number) => part !== '' && !(at === 0 && part === 'console') && !isProject(part, at)

const isProject = (part: string, at: number) => at <= 1 && part.startsWith('prj_')

function keptOf(search: string): string {
  const given = [...new URLSearchParams(search)]
  return new URLSearchParams(given.filter(([name]) => KEPT.includes(name))).toString()
}
