// Which requests somebody looked at last, so that the way up from one of them leads back to the same list.
let last = ''

export function rememberList(params: URLSearchParams): void {
  last = params.toString()
}

export const lastList = () => (last === '' ? '/requests' : `/requests?${last}`)
