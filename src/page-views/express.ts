/**
 * Express's types where a project has `@types/express`, and `any` where it has not: the
 * declarations of the package compile in both. The compiler keeps only comments of this form in
 * declarations, and obeys them there.
 */

/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressRequest = import('express').Request
/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressResponse = import('express').Response

/**
 * `req.user` and `req.session` of sites that have not declared them. They are `any`, since nothing
 * here knows what Passport or a session store puts there: with `unknown`, `req.user?.id` would not
 * compile without a cast.
 */
type Undeclared<Name extends string> = Name extends keyof ExpressRequest
  ? unknown
  : { [name in Name]?: any }

/**
 * A request as callbacks see it: that of Express, with the parameters of any route. On another
 * server it has only what that server has set. A parameter is `any`, since it is a text in Express
 * 4, and a text, or a list of texts for a wildcard, in Express 5: with the union,
 * `item: (req) => req.params.id` would not compile.
 */
export type Request = ExpressRequest & { params: { [name: string]: any } } & Undeclared<'user'> &
  Undeclared<'session'>
export type Response = ExpressResponse
