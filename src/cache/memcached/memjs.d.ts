/** The part of memjs 1.3 that the adapter uses; memjs brings no types. */
declare module 'memjs' {
  import type { Socket } from 'node:net'

  interface Response {
    readonly header: { readonly status: number; readonly totalBodyLength: number }
    readonly key: Buffer
    /** A view of the bytes received; nobody writes to them afterwards. */
    readonly val: Buffer
  }

  interface ServerOptions {
    /** Seconds. */
    timeout: number
    /** Seconds. */
    conntimeout: number
  }

  /** One connection and the callbacks that wait for its replies. */
  class Server {
    constructor(
      host: string,
      port: number,
      username: string | undefined,
      password: string | undefined,
      options: ServerOptions,
    )
    /** Set from the first call of `sock` until the connection is gone. */
    _socket?: Socket | undefined
    /** Bytes of a reply that is not complete yet. */
    responseBuffer: Buffer
    /** Connects, logs in, and hands over the socket: at once if it has done so before. */
    sock(sasl: false, ready: (socket: Socket) => void): void
    /** Keeps a callback for one reply; one that is `quiet` until a reply has no body. */
    onResponse(opaque: number, callback: ((response: Response) => void) & { quiet?: boolean }): void
    onError(opaque: number, callback: (error: unknown) => void): void
    /** Destroys the socket and calls every `onError` callback once. */
    error(error: unknown): void
  }

  const memjs: {
    Server: typeof Server
    Utils: {
      makeRequestBuffer(
        opcode: number,
        key: string,
        extras: Buffer | '',
        value: Buffer | '',
        opaque: number,
      ): Buffer
    }
  }
  export default memjs
  export type { Server, Response }
}
