/** Arguments of Node with which a child process runs TypeScript, from any working directory. */
export const TYPESCRIPT = ['--import', new URL('./register.js', import.meta.url).href]
