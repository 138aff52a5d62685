/** Returns an id of 16 bytes in the standard text of UUIDs. */
export function idText(id: Buffer): string {
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
