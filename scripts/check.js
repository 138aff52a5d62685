// Checks types, lint and format, all at once.
import { spawn } from 'node:child_process'

const CHECKS = [
  'npm run format:check',
  'npm run lint',
  'tsc -p tsconfig.json',
  'tsc -p tsconfig.widget.json',
  'tsc -p src/dashboard/assets',
]

const failed = await Promise.all(
  CHECKS.map(
    (check) =>
      new Promise((resolve) => {
        const child = spawn(check, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
        let said = ''
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8').on('data', (text) => (said += text))
        }
        child.once('close', (status) => {
          if (status !== 0) console.error(`${said}\n${check}: failed`)
          resolve(status !== 0)
        })
      }),
  ),
)
process.exitCode = failed.includes(true) ? 1 : 0
