// The other side of child.ts: answers each question of the parent by the function of its name, and
// ends with the parent.
export function answer(answers) {
  process.on('message', async ({ ask, ...what }) => {
    try {
      process.send({ answer: await answers[ask](what) })
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) })
    }
  })
  process.on('disconnect', () => process.exit())
}
