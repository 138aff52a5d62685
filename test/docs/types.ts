/** Blocks of TypeScript and JavaScript, compiled with the package's own declarations. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { removeFolder } from '../servers/process.js'
import { type Block, chainOf, sourceOf } from './blocks.js'
import { newProject } from './project.js'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

/**
 * Compiles under `strict`. JavaScript has no types of parameters, but all else is checked: a reader
 * may paste it into TypeScript.
 *
 * @throws Error with what the compiler says, by the lines of the Markdown file
 */
export async function compile(...blocks: readonly Block[]): Promise<void> {
  const folder = newProject()
  try {
    const files = blocks.map((block) => {
      const { file, line, language } = block
      const type = language === 'ts' ? 'mts' : 'mjs'
      const chain = chainOf(block).filter((one) => one.language === language)
      const name = `${file.replaceAll('/', '-')}-${line}.${type}`
      // Without an export or import a file would be no module, and could not await.
      writeFileSync(join(folder, name), `${sourceOf(chain)}\nexport {}\n`)
      return name
    })
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2023',
          strict: true,
          noImplicitAny: blocks.every(({ language }) => language === 'ts'),
          allowJs: true,
          checkJs: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: true,
          noEmit: true,
          types: ['node'],
        },
        files,
      }),
    )
    await promisify(execFile)(process.execPath, [TSC, '-p', folder])
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? error.stdout : error
    throw new Error(`it does not compile:\n${String(output)}`)
  } finally {
    removeFolder(folder)
  }
}
