/**
 * The public names that the docs have: in the examples, which run, and in the text. The API
 * reference does not count: it has all names, since it is generated.
 */
import { blocksIn } from './blocks.js'
import { withoutBlocks, writtenDocs } from './markdown.js'

const IMPORT = /^import \{([^}]*)\} from ['"](wide-cache(?:\/[\w-]+)*)['"]/gm
const CODE_SPAN = /`([^`\n]+)`/g

/**
 * By the name of an entry of the package, what examples import from it. Types are left out: they do
 * not exist at run time.
 */
export function namesInExamples(pages = writtenDocs()): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  for (const { file, text } of pages) {
    for (const block of blocksIn(file, text).filter(
      ({ language }) => language === 'js' || language === 'ts',
    )) {
      for (const [, list = '', entry = ''] of block.text.matchAll(IMPORT)) {
        const imported = list
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '' && !name.startsWith('type '))
        names.set(
          entry,
          new Set([
            ...(names.get(entry) ?? []),
            ...imported.map((name) => name.replace(/ as .*$/, '')),
          ]),
        )
      }
    }
  }
  return names
}

/** The words that stand as code in the text around the blocks. */
export function namesInText(pages = writtenDocs()): Set<string> {
  const names = new Set<string>()
  for (const { text } of pages) {
    for (const [, code = ''] of withoutBlocks(text).matchAll(CODE_SPAN)) {
      for (const [name] of code.matchAll(/\w+/g)) names.add(name)
    }
  }
  return names
}
