/** Text that `wide-cache --help` prints. */
export const USAGE = `Usage: wide-cache <command> [flags]

Commands:
  collect   collects visits and hits of web processes with collect: false, until SIGTERM or SIGINT
  migrate   makes the tables, or brings them up to this version
  status    prints the ledger, the grids, the last collecting runs and the tables
  doctor    looks for what is wrong with servers, tables, rights and clocks, and says what to do
  quarantine list | show <id> | retry <id…|all> | drop <id…|all>
            shows the frames that the database has refused, commits them after all, or gives them up
  parked list | show <id> | retry <id…|all> | skip <id…|all>
            shows the updates of maps and the entries of export queues that fail again and again,
            has them tried again, or gives them up
  certificate  prints the figures of a day with those of the ledger, and whether they agree
  export    prints the history of an activity, or the values of a dimension with the most views
  import <file>  adds to hits what was counted before, from lines "item,hits", or days to an
            activity, from "day,pageViews,visitors" or "day,page,pageViews"; once for each --id
  reconcile <files…>  compares access logs of nginx, Apache or Caddy with what was counted; - reads
            stdin; reconcile --format <server> prints a log format for it
  note <day> <text>  notes what happened on a day; note <day> --remove removes it
  remove-value  takes one value of a dimension out of the sums, and a page out of the visits

In a terminal start npx wide-cache collect; in a service node_modules/.bin/wide-cache collect, since
npx does not forward SIGTERM. Rows of a WideCache of your own need --module, which has its commit.

Flags of all commands:
  --database <url>            mysql://user:password@host/database or sqlite:./file.db
                              (default: WIDE_CACHE_DATABASE_URL, else DATABASE_URL,
                              else sqlite:./wide-cache.db)
  --log <text|json>           lines on stderr for people, or an object a line (default: text)
  -h, --help, --version

Flags of collect. What is not given is as the web processes have recorded it in the database:
  --cache <servers>           memcached://host:port,host:port or redis://host:port
                              (default: WIDE_CACHE_SERVERS, else MEMCACHE_SERVERS, else REDIS_URL)
  --name <name>               only this: the name of an activity, or hits.<name> for hits
                              (default: all in the database, also those that come later)
  --width <columns>
  --layer-seconds <seconds>
  --drain-after-layers <n>    (default: 2, or 3 with layers of 1 s)
  --cell-ttl-seconds <s>
  --retention-hours <hours>   of visits; the longest time that any process gives is used
  --collect <cron>            when to collect, a cron line such as "*/10 * * * * *"
                              (default: every 3 s, or each layer where layers are shorter)
  --listen <host:port>        serves /healthz, /readyz and /metrics there; a bare port listens on
                              127.0.0.1 (default: does not listen)
  --module <file>             collects only what the file exports: each WideCache, activity and
                              hits, with their own options; only --collect, --listen and --log
                              go with it

Flags of status:
  --all                       the page views of all activities instead, a row for each
  --name <name>               only this: the name of an activity, hits.<name>, or a name of your own
  --watch                     prints it every two seconds, until SIGTERM or SIGINT
  --json                      as JSON, on one line

Flags of doctor:
  --cache <servers>           as collect takes it
  --json                      as JSON, on one line

Flags of quarantine. Retried rows are committed once; dropped ones count as lost from then on:
  --name <name>               only frames of this: the name of an activity, or hits.<name>
  --json                      prints what it finds or does as JSON

Flags of parked. Skipped updates and entries are gone:
  --name <name>               only this: the id of a map or an export queue
  --json                      prints what it finds or does as JSON

Flags of certificate. The day comes before them, as 2026-05-17 (default: today):
  --name <name>               of the activity (default: activity)
  --json                      an object on one line

Flags of export:
  --from <moment>, --to <moment>  as 2026-05-17 or 2026-05-17T12:00Z
  --format <csv|ndjson>       (default: csv)
  --name <name>               of the activity (default: activity)
  --by <hour|day>             a row for each (default: day)
  --top <dimension>           not the history, but the values with the most views: page,
                              a dimension of the site, bot, botPurpose or gone
  --n <values>                of --top, 1 to 1000 (default: 10)
  --dimension <dimension>, --value <text>  only the views of one value, as top() shows it

Flags of import. The same command again goes on where it ended, or says that it is done:
  --name <name>               of the hits, as in createHits(), or of the activity
  --id <id>                   a name for this import, 1 to 32 letters, digits, _ . -
  --measure <served|seen>     (default: served)
  --skip-invalid              of hits, leaves out lines that cannot be imported
  --remove                    import --remove <id> removes the days of an import

Flags of reconcile. It exits with 1 above --allow, or where over 1 % of the lines cannot be read:
  --from <moment>, --to <moment>  as 2026-05-17 or 2026-05-17T12:00Z; whole closed days are compared
  --name <name>               of the activity (default: activity)
  --host <host>               only lines of this host (default: all)
  --allow <percent>           by which a day may differ (default: 1)
  --json                      as JSON, on one line
  --csv                       the page views of the log instead, as import takes them
  --format <nginx|apache|caddy>  prints lines for the settings of the web server

Flags of remove-value. Page views of the value count as (other) from then on:
  --dimension <dimension>     page, or a dimension of the site
  --value <text>              as top() shows it
  --name <name>               of the activity (default: activity)

Flags of note. A day has one note, which the next one replaces:
  --remove                    removes the note
  --name <name>               of the activity (default: activity)

Put a URL with a password into WIDE_CACHE_DATABASE_URL or WIDE_CACHE_SERVERS. In a flag, the history
of the shell keeps it, and under npx all users of the machine see it in the list of processes.
Exit status: 0 stopped or done, 1 something was found, 2 the command cannot run.
`
