// Makes the named files executable: tsc does not, and npm does so only where it installs.
import { chmodSync } from 'node:fs'

for (const file of process.argv.slice(2)) chmodSync(new URL(`../${file}`, import.meta.url), 0o755)
