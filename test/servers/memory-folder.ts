/** Where tests keep their files: databases make thousands, and wait until each is on the disk. */
import { chmodSync, readFileSync, statfsSync } from 'node:fs'
import { temporaryFolder } from './process.js'

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm'
/** Four times what the tests need. */
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Lets this process and its children keep their temporary files in memory, in a folder that goes
 * with the process. Does nothing where `TMPDIR` is set, or where there is little memory, or where
 * memory may hold no programs.
 */
export function keepFilesInMemory(): void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return
  process.env['TMPDIR'] = MEMORY
  const folder = temporaryFolder('tests')
  // Servers run as other users, too.
  chmodSync(folder, 0o1777)
  process.env['TMPDIR'] = folder
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const mounts = readFileSync('/proc/mounts', 'utf8')
    const options = new RegExp(`^\\S+ ${MEMORY} \\S+ (\\S+)`, 'm').exec(mounts)?.[1]?.split(',')
    return bavail * bsize >= ROOM_BYTES && options !== undefined && !options.includes('noexec')
  } catch {
    return false
  }
}
