// Writes the API reference from the docstrings, one page per class, function and type: npm run api.
// Exits with 1 if something public has no text, or an option lacks its default, unit or range.
//
// Usage: node scripts/api/main.js [output folder] [project folder]
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const [output, projectFolder = join(HERE, '../..')] = process.argv.slice(2)
const ROOT = resolve(projectFolder)
const OUT = resolve(output ?? join(ROOT, 'docs/api'))

/** Types that users need not name, because what they write is inferred to be of them. */
const INTERNAL_TYPES = ['InstrumentCallback', 'InstrumentDescription', 'RemoveOld', 'Request']

/** Endings of option names, each with the unit that the text of such an option must name. */
const UNITS = { Seconds: 'seconds', Ms: 'milliseconds', Hours: 'hours', Bytes: 'bytes' }

/** How the text of a number says what is allowed: `1 to 1,000`, `at least 2`. */
const RANGE = /\d\sto\s|\bto\s\d|\bat\s(?:least|most)\b/i

/** Page of the entry `wide-cache/wide-cache`: the first entry's page has its name. */
const BUFFER = 'write-behind'

/** Pages with so many members begin with a list of them. */
const LISTED_MEMBERS = 4

installPackages()
const { Application, Converter, ReflectionKind } = await import('typedoc')

const { name: packageName, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const app = await Application.bootstrapWithPlugins({
  entryPoints: sourcesOfEntries(),
  tsconfig: join(ROOT, 'tsconfig.build.json'),
  plugin: ['typedoc-plugin-markdown'],
  logLevel: 'Warn',
  // The types have been checked by the compiler of the project.
  skipErrorChecking: true,
  out: OUT,
  router: 'member',
  alwaysCreateEntryPointModule: true,
  readme: 'none',
  sort: ['kind', 'alphabetical'],
  groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', '*'],
  intentionallyNotExported: INTERNAL_TYPES,
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  // Headings that differ in case only have anchors of their own so.
  useHTMLAnchors: true,
  pageTitleTemplates: { module: ({ name }) => entryOf(name), member: ({ name }) => name },
  classPropertiesFormat: 'table',
  interfacePropertiesFormat: 'table',
  parametersFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: {
    hideDefaults: true,
    hideInherited: true,
    hideModifiers: true,
    hideOverrides: true,
  },
  // Text, in which code stands between backticks, as everywhere else.
  jsDocCompatibility: { defaultTag: false, exampleTag: false },
  validation: { invalidLink: true, notDocumented: true, notExported: true },
})
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, leaveOut)
// After all else has been resolved.
app.converter.on(Converter.EVENT_RESOLVE_END, leaveOutBases, -1_000_000)

const project = await app.convert()
if (!project) process.exit(1)
app.validate(project)
for (const complaint of complaints()) app.logger.warn(complaint)
rmSync(OUT, { recursive: true, force: true })
await app.generateOutputs(project)
for (const file of pagesIn(OUT)) listMembers(file)
writeFileSync(join(OUT, 'README.md'), contents())
process.exitCode = app.logger.hasErrors() || app.logger.hasWarnings() ? 1 : 0

/** TypeDoc needs TypeScript 6, so that it has packages of its own. They are installed once. */
function installPackages() {
  const installed = join(HERE, 'node_modules/.package-lock.json')
  const lock = join(HERE, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE, stdio: 'pipe' })
}

/** Returns the names that users import: `wide-cache`, `wide-cache/counters` … */
function namesOfEntries() {
  return Object.keys(exports)
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => entry.replace('.', packageName))
}

/** The sources of these entries. */
function sourcesOfEntries() {
  return Object.values(exports)
    .filter(({ types }) => types)
    .map(({ types }) => join(ROOT, types.replace('dist', 'src').replace('.d.ts', '.ts')))
}

/** The entry of a page: `wide-cache/counters` of `counters`. */
function entryOf(page) {
  if (page === packageName) return page
  return `${packageName}/${page === BUFFER ? packageName : page}`
}

/** Leaves out what users neither hand in nor need to be told. */
function leaveOut({ project }) {
  for (const module of project.children) {
    // The first entry, whose source is src/index.ts.
    if (module.name === packageName) module.name = BUFFER
    else if (module.name === 'index') module.name = packageName
  }
  // TypeDoc's name of a parameter that is taken apart.
  for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
    if (parameter.name === '__namedParameters') parameter.name = 'options'
  }
  // The name of an error is that of its class.
  for (const property of project.getReflectionsByKind(ReflectionKind.Property)) {
    if (property.name === 'name' && property.parent.name.endsWith('Error')) {
      project.removeReflection(property)
    }
  }
}

/**
 * Leaves out that something comes from a base that is not exported: its members are shown as those
 * of what inherits them.
 */
function leaveOutBases({ project }) {
  const isOfBase = (type) =>
    type && !type.reflection && [packageName, undefined].includes(type.package)
  for (const reflection of project.getReflectionsByKind(ReflectionKind.All)) {
    for (const key of ['inheritedFrom', 'overwrites', 'implementationOf']) {
      if (isOfBase(reflection[key])) reflection[key] = undefined
    }
    if (reflection.extendedTypes?.some(isOfBase)) reflection.typeHierarchy = undefined
  }
}

/** Lists what the texts of properties lack, beside what TypeDoc reports itself. */
function complaints() {
  const properties = project.getReflectionsByKind(ReflectionKind.Property)
  return properties.flatMap((property) => {
    const text = textOf(property.comment?.summary)
    const missing = []
    // Without any comment TypeDoc complains itself.
    if (text === '' && property.comment) missing.push('a text')
    if (property.parent.name.endsWith('Options')) {
      const [, unit] = Object.entries(UNITS).find(([end]) => property.name.endsWith(end)) ?? []
      if (unit && !text.toLowerCase().includes(unit)) missing.push(`its unit, ${unit}`)
      if (isNumber(property.type) && !RANGE.test(text)) missing.push('its range')
      if (property.flags.isOptional && !textOf(property.comment?.getTag('@default')?.content)) {
        missing.push('a @default')
      }
    }
    return missing.map((what) => `${property.getFullName()} lacks ${what} in its docstring`)
  })
}

function isNumber(type) {
  return type?.name === 'number' || Boolean(type?.types?.some(isNumber))
}

/** The paths of all pages in a folder. */
function pagesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.md') && !file.endsWith('README.md'))
    .map((file) => join(folder, file))
}

/** Puts a list of the members of a class or an interface below the title of its page. */
function listMembers(file) {
  const text = readFileSync(file, 'utf8')
  const members = [...text.matchAll(/^<a id="([^"]+)"><\/a>\n\n### (.+)$/gm)].map(
    ([, anchor, heading]) => `[${heading}](#${anchor})`,
  )
  if (members.length < LISTED_MEMBERS) return
  writeFileSync(
    file,
    text.replace(/^# .*\n/, (title) => `${title}\n${members.join(' · ')}\n`),
  )
}

function textOf(parts = []) {
  return parts
    .map(({ text }) => text)
    .join('')
    .trim()
}

/** The page with the links to all others, in the order of package.json. */
function contents() {
  const pages = namesOfEntries().map((entry) => {
    const { name, comment } = project.children.find((module) => entryOf(module.name) === entry)
    return `- [${entry}](${name}/README.md): ${textOf(comment?.summary).replaceAll('\n', ' ')}`
  })
  return `# API reference

\`npm run api\` writes these pages from the docstrings in the sources. Do not edit them.
Each entry of the package lists its classes, functions and types:

${pages.join('\n')}
`
}
