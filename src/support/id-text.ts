/** Returns an id of 16 bytes in the standard text of UUIDs. */
export function idText(id: Buffer): string {
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Returns the id that {@link idText} has made a text of. */
export function idOfText(text: string): Buffer {
  return Buffer.from(text.replaceAll('-', ''), 'hex')
}
