/**
 * Lets Node run the TypeScript of this project: `node --import ./scripts/typescript/register.js`.
 */
import { register } from 'node:module'

register('./hooks.js', import.meta.url)
