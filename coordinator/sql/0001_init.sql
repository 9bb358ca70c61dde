-- The store: runs, cases, packs, tasks, shards, sessions, blobs, tokens, results.
--
-- The unit of result is the task. Results are partitioned by their run's creation day,
-- which never changes: a retry after midnight meets the first result. No state lasts
-- without a deadline: leases live as long as their session's heartbeats.

CREATE TYPE run_state AS ENUM ('queued', 'running', 'done', 'cancelled');
CREATE TYPE task_state AS ENUM ('open', 'done', 'cancelled', 'lost');
CREATE TYPE shard_state AS ENUM ('ready', 'leased', 'done', 'split', 'cancelled', 'lost');
CREATE TYPE session_state AS ENUM ('alive', 'dead', 'ended');
CREATE TYPE token_role AS ENUM ('reader', 'submitter', 'admin', 'runner');

CREATE TABLE token (
    token_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    role token_role NOT NULL,
    sha256 bytea NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    created timestamptz NOT NULL DEFAULT now(),
    revoked timestamptz
);

CREATE TABLE blob (
    sha256 text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes bigint NOT NULL CHECK (bytes >= 0),
    token_id bigint REFERENCES token,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE case_def (
    case_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    case_id text NOT NULL UNIQUE CHECK (case_id ~ '^[0-9a-f]{64}$'),
    op text NOT NULL,
    label text NOT NULL,
    canonical text NOT NULL,      -- JSON; hashed, so the text itself is kept
    dataset text,                 -- SHA-256 or null
    math_type text NOT NULL DEFAULT '',
    flops float8 NOT NULL DEFAULT 0,
    bytes float8 NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pack (
    pack_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pack_id text NOT NULL UNIQUE CHECK (pack_id ~ '^[0-9a-f]{64}$'),
    name text NOT NULL,
    manifest json,                -- null: known from imported results only
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE kernel (
    kernel_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pack_key bigint NOT NULL REFERENCES pack,
    name text NOT NULL,
    op text NOT NULL,
    archs text[] NOT NULL DEFAULT '{}',
    source text NOT NULL DEFAULT '',
    UNIQUE (pack_key, name)
);

CREATE TABLE run (
    run_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id uuid UNIQUE,        -- made by the client: the same request, the same run
    request_digest bytea,          -- of the body, to tell a repeat from a reuse
    import_digest bytea UNIQUE,
    kind text NOT NULL DEFAULT 'farm' CHECK (kind IN ('farm', 'imported')),
    name text NOT NULL,
    suite text NOT NULL DEFAULT '',
    priority smallint NOT NULL,
    state run_state NOT NULL DEFAULT 'queued',
    version bigint NOT NULL DEFAULT 1, -- grows with every change, for long polls
    run_day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    tasks integer NOT NULL,
    expected integer,              -- of an imported file
    finished integer NOT NULL DEFAULT 0,
    repetitions integer NOT NULL DEFAULT 1,
    seed_offset bigint NOT NULL DEFAULT 0,
    device_selector text NOT NULL DEFAULT '',
    measure json NOT NULL DEFAULT '{}',
    deadline_ms bigint NOT NULL DEFAULT 600000,
    token_id bigint REFERENCES token,
    created timestamptz NOT NULL DEFAULT now(),
    ended timestamptz
) WITH (fillfactor = 70);
CREATE INDEX run_unfinished ON run (run_id) WHERE state IN ('queued', 'running');

CREATE TABLE run_case (
    run_case_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES run,
    ordinal integer NOT NULL,
    case_key bigint NOT NULL REFERENCES case_def,
    name text NOT NULL,
    UNIQUE (run_id, ordinal)
);

CREATE TABLE run_pack (
    run_id bigint NOT NULL REFERENCES run,
    pack_key bigint NOT NULL REFERENCES pack,
    archive text,                  -- SHA-256 of the blob; null for imported runs
    provenance json,
    PRIMARY KEY (run_id, pack_key)
);

-- Results of a run by answer and time, so that a progress bar reads a few rows.
CREATE TABLE run_tally (
    run_id bigint NOT NULL REFERENCES run,
    answer text NOT NULL,
    time_flag text NOT NULL,
    n integer NOT NULL,
    PRIMARY KEY (run_id, answer, time_flag)
) WITH (fillfactor = 70);

CREATE TABLE session (
    session_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id bigint NOT NULL REFERENCES token,
    name text NOT NULL,
    version text NOT NULL,
    labels text[] NOT NULL,
    state session_state NOT NULL DEFAULT 'alive',
    drain boolean NOT NULL DEFAULT false,
    started timestamptz NOT NULL DEFAULT now(),
    ended timestamptz
);
CREATE INDEX session_alive ON session (session_id) WHERE state = 'alive';

-- One row a session, updated in place: no index but the key.
CREATE TABLE session_beat (
    session_id bigint PRIMARY KEY REFERENCES session,
    last_seen timestamptz NOT NULL DEFAULT now(),
    ttl interval NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE device (
    device_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id bigint NOT NULL REFERENCES session,
    device_id text NOT NULL,
    runtime text NOT NULL,
    arch text NOT NULL,            -- without feature suffixes
    model text NOT NULL,
    name text NOT NULL,
    memory_bytes bigint NOT NULL,  -- 0: unknown
    facts json NOT NULL,
    UNIQUE (session_id, device_id)
);

CREATE TABLE shard (
    shard_id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES run,
    parent_id bigint,              -- the shard that it was split from
    priority smallint NOT NULL,
    state shard_state NOT NULL DEFAULT 'ready',
    -- What a device must have; null: anything.
    runtime text,
    archs text[],
    model text,
    labels text[] NOT NULL DEFAULT '{}',
    memory_bytes bigint NOT NULL DEFAULT 0,
    estimate_ms bigint NOT NULL,
    open_tasks integer NOT NULL,
    leases smallint NOT NULL DEFAULT 0,        -- how often it was handed out
    attempt_infra smallint NOT NULL DEFAULT 0, -- how often a runner failed on it
    not_before timestamptz NOT NULL DEFAULT now(),
    queued timestamptz NOT NULL DEFAULT now(),
    lease_token uuid,
    claim_id uuid,
    session_id bigint,
    device_id text,
    leased timestamptz,
    ended timestamptz,
    CHECK ((state = 'leased') = (lease_token IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX shard_ready ON shard (priority, shard_id) WHERE state = 'ready';
CREATE INDEX shard_held ON shard (session_id) WHERE state IN ('leased', 'cancelled');
CREATE INDEX shard_run ON shard (run_id);

-- Every lease that was given, and how it ended.
CREATE TABLE lease_log (
    lease_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard_id bigint NOT NULL,
    attempt smallint NOT NULL,
    session_id bigint NOT NULL,
    device_id text NOT NULL,
    leased timestamptz NOT NULL DEFAULT now(),
    ended timestamptz,
    outcome text,                  -- done, drained, error, session-lost, cancelled
    reason text
) WITH (fillfactor = 80);
CREATE INDEX lease_log_shard ON lease_log (shard_id);

CREATE TABLE task (
    task_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    shard_id bigint,               -- null: imported
    run_case_id bigint NOT NULL,
    case_key bigint NOT NULL,
    kernel_key bigint NOT NULL,
    repetition integer NOT NULL,
    estimate_ms integer NOT NULL DEFAULT 0,
    state task_state NOT NULL DEFAULT 'open'
) WITH (fillfactor = 80);
CREATE INDEX task_run ON task (run_id, task_id);
CREATE INDEX task_shard ON task (shard_id) WHERE state = 'open';

CREATE TABLE result (
    run_day date NOT NULL,
    task_id bigint NOT NULL,
    run_id bigint NOT NULL,
    case_key bigint NOT NULL,
    kernel_key bigint NOT NULL,
    received timestamptz NOT NULL DEFAULT now(),
    attempt smallint NOT NULL,
    session_id bigint,
    lease_token uuid,
    digest bytea,
    kind text NOT NULL,
    answer text NOT NULL,
    answer_text text NOT NULL DEFAULT '',
    time_flag text NOT NULL,
    median_ns float8,
    mad_ns float8,
    min_ns float8,
    max_ns float8,
    q1_ns float8,
    q3_ns float8,
    ci_lo_ns float8,
    ci_hi_ns float8,
    sample_count integer NOT NULL DEFAULT 0,
    flops float8,
    bytes float8,
    math_type text NOT NULL DEFAULT '',
    peak_flops float8,
    peak_bytes_per_s float8,
    roofline_ns float8,
    total_ns float8,               -- whole task, for estimates
    device_id text NOT NULL DEFAULT '',
    device_name text NOT NULL DEFAULT '',
    device_model text NOT NULL DEFAULT '',
    device_arch text NOT NULL DEFAULT '',
    runtime text NOT NULL DEFAULT '',
    cold boolean NOT NULL DEFAULT false,
    body json,                     -- the result without its samples; null: LOST, CANCELLED
    PRIMARY KEY (run_day, task_id),
    CHECK (answer = 'PASS' OR median_ns IS NULL) -- a wrong answer has no time
) PARTITION BY RANGE (run_day);
CREATE INDEX result_history ON result (case_key, kernel_key, run_day DESC, task_id DESC)
    INCLUDE (median_ns, total_ns, device_model, answer);

-- Apart from the results, so that they can be dropped earlier.
CREATE TABLE sample (
    run_day date NOT NULL,
    task_id bigint NOT NULL,
    samples float8[] NOT NULL,     -- per launch, in order, invalid ones included
    clock_mhz float8[] NOT NULL,
    power_w float8[] NOT NULL,
    PRIMARY KEY (run_day, task_id)
) PARTITION BY RANGE (run_day);

-- Partitions of the month of `day`. Two callers at once are serialised by the lock.
CREATE FUNCTION ensure_month(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', day)::date;
    past date := (date_trunc('month', day) + interval '1 month')::date;
    suffix text := to_char(day, 'YYYY_MM');
BEGIN
    IF to_regclass('farm.result_' || suffix) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('wavefarm.ensure_month'));
    EXECUTE format('CREATE TABLE IF NOT EXISTS farm.result_%s PARTITION OF farm.result '
                   'FOR VALUES FROM (%L) TO (%L)', suffix, first, past);
    EXECUTE format('CREATE TABLE IF NOT EXISTS farm.sample_%s PARTITION OF farm.sample '
                   'FOR VALUES FROM (%L) TO (%L)', suffix, first, past);
END $$;

-- Bodies of about 2 kB: lz4 costs a fraction of the default's time. Servers may be built
-- without it.
DO $$
BEGIN
    ALTER TABLE result ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

SELECT ensure_month((now() AT TIME ZONE 'UTC')::date);
SELECT ensure_month(((now() AT TIME ZONE 'UTC') + interval '1 month')::date);
