/** Figures of the package on MariaDB and on PostgreSQL: the part `databases`. */
import { beside, ofRequests } from '../parts/databases.js'
import type { Figures } from './measured.js'

export const databases: Figures = (read) => ({ rows: beside(read('databases').samples) })

export const databasesRequests: Figures = (read) => ({
  rows: ofRequests(read('databases').samples),
})
