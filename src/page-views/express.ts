/**
 * Express's types where a project has `@types/express`, and `any` where it has not: the
 * declarations of the package compile in both. The compiler keeps only comments of this form in
 * declarations, and obeys them there.
 */

/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressRequest = import('express').Request
/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressResponse = import('express').Response
/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressHandler = import('express').RequestHandler
/** @ts-ignore Without `@types/express` this is `any`. */
type ExpressRouter = import('express').Router

/** What sites without a declaration of their own have as `req.user` and `req.session`. */
type Undeclared<Name extends string> = Name extends keyof ExpressRequest
  ? unknown
  : { [name in Name]?: any }

/** A request as callbacks see it: that of Express, with the parameters of any route. */
export type Request = ExpressRequest & { params: { [name: string]: any } } & Undeclared<'user'> &
  Undeclared<'session'>
export type Response = ExpressResponse
export type RequestHandler = ExpressHandler
export type Router = ExpressRouter
