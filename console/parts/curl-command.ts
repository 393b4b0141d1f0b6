// A request to the service as a line for a shell, with the key in a variable so that it stays out of the history.
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

export const curlCommand = (origin: string, path: string, body: unknown) =>
  `curl -sS ${origin}${path} \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(body, null, 2))}`
