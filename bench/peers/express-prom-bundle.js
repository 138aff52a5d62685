// express-prom-bundle, as its README begins: a histogram of durations by method and status.
import promBundle from 'express-prom-bundle'

const HISTOGRAM = 'http_request_duration_seconds'

export function start() {
  const { promClient } = promBundle
  return {
    use: (app) => app.use(promBundle({ includeMethod: true })),
    async count() {
      const { values } = await promClient.register.getSingleMetric(HISTOGRAM).get()
      return values
        .filter(({ metricName }) => metricName === `${HISTOGRAM}_count`)
        .reduce((sum, { value }) => sum + value, 0)
    },
  }
}
