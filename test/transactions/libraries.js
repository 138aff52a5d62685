/**
 * How a site opens a transaction with each library, and the function that it passes as `tx`. By the
 * name of the library, and that of the server in its URL. `transaction(work)` rolls back if `work`
 * rejects. `pool` runs SQL outside a transaction.
 */
export const LIBRARIES = {
  async mysql2({ href }) {
    const { createPool } = await import('mysql2/promise')
    const pool = createPool(href)
    return {
      pool: (sql) => pool.query(sql),
      close: () => pool.end(),
      async transaction(work) {
        const connection = await pool.getConnection()
        try {
          await connection.beginTransaction()
          await work((sql) => connection.query(sql))
          await connection.commit()
        } catch (error) {
          await connection.rollback()
          throw error
        } finally {
          connection.release()
        }
      },
    }
  },

  async pg({ href }) {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: href })
    return {
      pool: (sql) => pool.query(sql),
      close: () => pool.end(),
      async transaction(work) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          await work((sql) => client.query(sql))
          await client.query('COMMIT')
        } catch (error) {
          await client.query('ROLLBACK')
          throw error
        } finally {
          client.release()
        }
      },
    }
  },

  async knex({ href, protocol }) {
    const { default: knex } = await import('knex')
    const db = knex({ client: protocol === 'mysql:' ? 'mysql2' : 'pg', connection: href })
    return {
      pool: (sql) => db.raw(sql),
      close: () => db.destroy(),
      transaction: (work) => db.transaction((trx) => work((sql) => trx.raw(sql))),
    }
  },

  async kysely({ href, protocol }) {
    const { Kysely, MysqlDialect, PostgresDialect, sql: text } = await import('kysely')
    const dialect =
      protocol === 'mysql:'
        ? new MysqlDialect({ pool: (await import('mysql2')).createPool(href) })
        : new PostgresDialect({
            pool: new (await import('pg')).default.Pool({ connectionString: href }),
          })
    const db = new Kysely({ dialect })
    return {
      pool: (sql) => text.raw(sql).execute(db),
      close: () => db.destroy(),
      transaction: (work) =>
        db.transaction().execute((trx) => work((sql) => text.raw(sql).execute(trx))),
    }
  },

  async drizzle({ href, protocol }) {
    const { sql: text } = await import('drizzle-orm')
    const isMysql = protocol === 'mysql:'
    const client = isMysql
      ? (await import('mysql2/promise')).createPool(href)
      : new (await import('pg')).default.Pool({ connectionString: href })
    const { drizzle } = await (isMysql
      ? import('drizzle-orm/mysql2')
      : import('drizzle-orm/node-postgres'))
    const db = drizzle(client)
    return {
      pool: (sql) => db.execute(text.raw(sql)),
      close: () => client.end(),
      transaction: (work) => db.transaction((tx) => work((sql) => tx.execute(text.raw(sql)))),
    }
  },

  async typeorm({ href, protocol }) {
    const { DataSource } = await import('typeorm')
    const source = new DataSource({ type: protocol === 'mysql:' ? 'mysql' : 'postgres', url: href })
    await source.initialize()
    return {
      pool: (sql) => source.query(sql),
      close: () => source.destroy(),
      transaction: (work) => source.transaction((manager) => work((sql) => manager.query(sql))),
    }
  },

  async sequelize({ href, protocol }) {
    const { Sequelize } = await import('sequelize')
    const sequelize = new Sequelize(href, {
      dialect: protocol === 'mysql:' ? 'mysql' : 'postgres',
      logging: false,
    })
    return {
      pool: (sql) => sequelize.query(sql),
      close: () => sequelize.close(),
      transaction: (work) =>
        sequelize.transaction((transaction) =>
          work((sql) => sequelize.query(sql, { transaction })),
        ),
    }
  },
}
