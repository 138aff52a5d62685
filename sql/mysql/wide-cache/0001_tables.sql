-- The ledger of wide caches. Times are milliseconds since the Unix epoch, by the database's clock.

-- One row a name: what it is used for, and what collectors must know of the processes that record. Its frames go through the
-- grids of grid_name: the measures of an object share one, and its name is that of the first. kind is activity, hits, or what
-- a WideCache was given; rows of another kind are never read. The longest of cell_ttl_seconds, of direct_seconds (when a
-- living writer has committed what no collector has brought), of vanished_seconds (how long a writer must be unheard of until
-- nothing can come from it) and of keep_seconds (how long rows are kept; 0: nobody has said) that a process has given counts,
-- and the last repeat_seconds (0: the default); history_days: for how many days the values of dimensions are kept by the
-- hour; the most counts. keeps: what the last process that said so keeps of visits, rows or sums; empty: nobody has said, so
-- rows. time_zone: the zone of hours and days of all measures, in the row of grid_name; the first process that records them
-- decides, empty: UTC. hour_lead: the minutes by which its hours begin before those of UTC. given_zone: the last zone that a
-- process was given, which the doctor compares. Each commit of a writer enters its moment: SQL has taken rows from
-- writable_since to written_at, and by that writers have committed themselves what was recorded before direct_to. safe_at:
-- the time by which collectors close days and remove what is old; it follows the database's clock by at most four seconds a
-- second.
CREATE TABLE IF NOT EXISTS wide_cache_names (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  grid_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  cell_ttl_seconds BIGINT NOT NULL,
  direct_seconds BIGINT NOT NULL,
  vanished_seconds BIGINT NOT NULL,
  keep_seconds BIGINT NOT NULL,
  history_days BIGINT NOT NULL,
  repeat_seconds BIGINT NOT NULL,
  writable_since BIGINT NOT NULL DEFAULT 0,
  written_at BIGINT NOT NULL DEFAULT 0,
  direct_to BIGINT NOT NULL DEFAULT 0,
  safe_at BIGINT NOT NULL DEFAULT 0,
  keeps VARCHAR(4) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  time_zone VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  given_zone VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  hour_lead BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a grid. The id is unique and part of the keys of its cells; another width or layer length is another grid of the same
-- name. private_to is zero for a shared cache and the process's id for memory:. watermark is the newest drained layer.
-- Collectors read long layers before they are old enough: complete_to is a moment before which all rows are in SQL by that;
-- flush_ms is the longest time that a frame of a process gathers rows. Where the watermark had not risen for long, SQL may not
-- have taken writes: it leapt at leapt_at, from leapt_from on. Figures end there until writers have had time to commit.
-- mark is the newest mark that the cache of a collector has shown, period_seconds how often collectors come and
-- drain_after_layers how old a layer is by then (NULL: none ever came). run_at, run_rows and run_ms: when the last collecting
-- run ended, the rows it committed, and the milliseconds it took; NULL: none has ended yet.
CREATE TABLE IF NOT EXISTS wide_cache_grids (
  id BINARY(16) NOT NULL,
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  width INT NOT NULL,
  layer_seconds INT NOT NULL,
  private_to BINARY(16) NOT NULL,
  watermark BIGINT NOT NULL,
  complete_to BIGINT NOT NULL DEFAULT 0,
  flush_ms INT NOT NULL DEFAULT 0,
  moved_at BIGINT NOT NULL,
  leapt_from BIGINT NOT NULL DEFAULT 0,
  leapt_at BIGINT NOT NULL DEFAULT 0,
  used_at BIGINT NOT NULL,
  lease_owner BINARY(16) NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  mark BINARY(16) NULL,
  period_seconds INT NULL,
  drain_after_layers INT NULL,
  run_at BIGINT NULL,
  run_rows BIGINT NULL,
  run_ms BIGINT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY wide_cache_grids_geometry (name, width, layer_seconds, private_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a writer. Every frame up to prefix is settled; counts are rows. The prefix may pass what is missing
-- below aging_floor a cell TTL after aging_since. floor_at: the time of the first row that the writer had not heard to be settled
-- when it closed its newest frame here. gone: what was quarantined, dropped and lost together when a frame last came,
-- and gone_at: when that had last changed. The writer of 16 zero bytes has the sums of all forgotten writers.
CREATE TABLE IF NOT EXISTS wide_cache_writers (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NOT NULL,
  prefix BIGINT NOT NULL DEFAULT -1,
  issued BIGINT NOT NULL DEFAULT 0,
  committed BIGINT NOT NULL DEFAULT 0,
  duplicate BIGINT NOT NULL DEFAULT 0,
  quarantined BIGINT NOT NULL DEFAULT 0,
  dropped BIGINT NOT NULL DEFAULT 0,
  lost BIGINT NOT NULL DEFAULT 0,
  floor BIGINT NOT NULL DEFAULT 0,
  floor_issued BIGINT NOT NULL DEFAULT 0,
  floor_at BIGINT NOT NULL DEFAULT 0,
  aging_floor BIGINT NOT NULL DEFAULT 0,
  aging_issued BIGINT NOT NULL DEFAULT 0,
  aging_since BIGINT NOT NULL DEFAULT 0,
  gone BIGINT NOT NULL DEFAULT 0,
  gone_at BIGINT NOT NULL DEFAULT 0,
  last_seen BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (name, writer),
  KEY wide_cache_writers_last_seen (name, last_seen)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The settled frames above their writer's prefix, as ranges without gaps: row_count rows, issued rows before them.
CREATE TABLE IF NOT EXISTS wide_cache_ranges (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NOT NULL,
  first_sequence BIGINT NOT NULL,
  last_sequence BIGINT NOT NULL,
  issued BIGINT NOT NULL,
  row_count BIGINT NOT NULL,
  PRIMARY KEY (name, writer, first_sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Frames whose rows SQL refused, in pieces that fit a packet (0, 1, …; row_count is in the first), and bytes that are no
-- frame of the kind of the name (writer and sequence are NULL).
CREATE TABLE IF NOT EXISTS wide_cache_quarantine (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NULL,
  sequence BIGINT NULL,
  piece INT NOT NULL,
  row_count INT NOT NULL,
  reason VARCHAR(500) CHARACTER SET utf8mb4 NOT NULL,
  bytes MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY wide_cache_quarantine_writer (name, writer, sequence),
  KEY wide_cache_quarantine_created_at (name, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a process that has begun to record: since when it may hold rows that no collector brings yet, and when it said so.
CREATE TABLE IF NOT EXISTS wide_cache_joining (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  process BINARY(16) NOT NULL,
  since BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (name, process)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
