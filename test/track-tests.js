/**
 * Preloaded by each process of tests: node:test tells at less cost which test a promise or a timer
 * belongs to. It keeps a map by id, and removes an entry when V8 frees its promise; that V8 tells
 * about each one takes a quarter of all CPU time. Here each promise or timer holds the id of its
 * test itself.
 */
import asyncHooks from 'node:async_hooks'

const { createHook, executionAsyncId, executionAsyncResource } = asyncHooks
const TEST = Symbol('id of the test')

/** Called by node:test, and by it alone: it takes both functions when it is loaded. */
asyncHooks.createHook = ({ init }) => {
  Object.assign(asyncHooks, { createHook, executionAsyncId })
  return createHook({
    init(id, type, trigger, resource) {
      if (isTest(resource)) {
        resource[TEST] = id
        init(id, type, trigger, resource)
      } else {
        const test = executionAsyncResource()[TEST]
        if (test !== undefined) resource[TEST] = test
      }
    },
  })
}
asyncHooks.executionAsyncId = () => executionAsyncResource()[TEST] ?? executionAsyncId()

function isTest(resource) {
  return typeof resource.createSubtest === 'function'
}
