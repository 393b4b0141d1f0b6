// A collector that is away loses spans and disturbs nobody: it is told once that they are lost, and once that they are
// not any more.
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'

export class ToldOnceExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #logger: Pick<FastifyBaseLogger, 'warn' | 'info'>
  #lost_spans = 0
  #is_away = false

  constructor(exporter: SpanExporter, logger: Pick<FastifyBaseLogger, 'warn' | 'info'>) {
    this.#exporter = exporter
    this.#logger = logger
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, ({ code, error: err }) => {
      if (code === ExportResultCode.FAILED) this.#lost(spans.length, err)
      else this.#arrived()
      done({ code: ExportResultCode.SUCCESS }) // it has been told
    })
  }

  #lost(spans: number, err: Error | undefined): void {
    this.#lost_spans += spans
    if (this.#is_away) return
    this.#is_away = true
    this.#logger.warn({ err, spans }, 'traces cannot be exported; this is logged once, until they can be again')
  }

  #arrived(): void {
    if (!this.#is_away) return
    this.#is_away = false
    this.#logger.info({ lost_spans: this.#lost_spans }, 'traces are exported again')
    this.#lost_spans = 0
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
