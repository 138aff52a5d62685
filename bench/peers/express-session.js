// express-session in memory, as its README begins: a visitor's first request makes a session
// and stores it (`saveUninitialized`), and each later one reads it and touches it (no `resave`).
// Visitors send their cookie back.
import session from 'express-session'

export function start() {
  const store = new session.MemoryStore()
  return {
    use: (app) =>
      app.use(session({ secret: 'keyboard cat', resave: false, saveUninitialized: true, store })),
    /** The sessions. */
    count: () => Object.keys(store.sessions).length,
  }
}
