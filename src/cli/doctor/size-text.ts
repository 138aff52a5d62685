/** A size for a person: `512 KiB`. */
export function sizeText(bytes: number): string {
  return bytes < 1024 * 1024
    ? `${Math.ceil(bytes / 1024)} KiB`
    : `${Math.ceil(bytes / 1024 / 1024)} MiB`
}
