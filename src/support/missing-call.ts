/**
 * Refuses a method that was handed to Express instead of what it returns: Express calls it without
 * its object, and a private field would be read of `undefined`.
 *
 * @param call the method and its object, such as `activity.middleware`
 * @throws TypeError
 */
export function assertCalled(self: unknown, call: string): void {
  if (self !== undefined) return
  throw new TypeError(
    `wide-cache: ${call} was given to Express itself; give what it returns: ` +
      `app.use(${call}()), with the parentheses`,
  )
}
