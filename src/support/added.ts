/** Adds up reports of one shape, whose fields are numbers. There is one at least. */
export function added<Field extends string>(
  reports: readonly Readonly<Record<Field, number>>[],
): Record<Field, number> {
  const [first, ...others] = reports
  const sum: Record<Field, number> = { ...first! }
  for (const other of others) {
    for (const field of Object.keys(sum) as Field[]) sum[field] += other[field]
  }
  return sum
}
