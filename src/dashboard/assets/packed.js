/**
 * Rows of a table, which come as the names of its columns and the cells of each row. Cells that a
 * row does not have are left out at its end, and else `null`.
 *
 * @param {string} _key
 * @param {any} value
 */
export const unpacked = (_key, value) =>
  value?.columns
    ? value.rows.map((/** @type {unknown[]} */ row) =>
        Object.fromEntries(row.map((cell, of) => [value.columns[of], cell])),
      )
    : value
