/** Runs `work` every so often, never twice at a time, and each time that it is called. */
export function repeated(work, everyMs) {
  let last = Promise.resolve()
  const run = () => (last = last.then(work))
  const timer = setInterval(run, everyMs)
  return { run, stop: () => clearInterval(timer) }
}
