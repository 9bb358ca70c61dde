-- Gates (docs/gate.md): base and candidate side by side, pair by pair and round by round.
--
-- A gate is a run of kind 'gate'; a round of one of its groups is a shard; a pair in a
-- round is a task, whose one accepted result is the pair's record. Leases, tokens,
-- duplicates, lost attempts and cancelling are those of every other task. One more task
-- a round, without a pair, has the round's facts. Masks are drawn from the gate's seed,
-- whoever runs them, so a block is valid on its own: a round that lost its worker keeps
-- what was accepted and does the rest under a new lease.

ALTER TABLE run DROP CONSTRAINT run_kind_check;
ALTER TABLE run ADD CONSTRAINT run_kind_check CHECK (kind IN ('farm', 'imported', 'gate'));

ALTER TABLE shard
    ADD COLUMN pin_runner text,      -- with pin_device: no other device gets it
    ADD COLUMN pin_device text,
    ADD COLUMN gate_group integer,   -- of a gate's round
    ADD COLUMN gate_round integer;
CREATE INDEX shard_gate ON shard (run_id, gate_group)
    WHERE gate_group IS NOT NULL AND state IN ('ready', 'leased');

CREATE TABLE gate (
    run_id bigint PRIMARY KEY REFERENCES run,
    gate text NOT NULL UNIQUE CHECK (gate ~ '^[0-9a-f]{16}$'),
    seed text NOT NULL CHECK (seed ~ '^[0-9a-f]{64}$'),
    request json NOT NULL,           -- the header as it was asked for
    header json,                     -- as it holds; null: no device matched yet
    packs json GENERATED ALWAYS AS (header -> 'packs') STORED, -- the header may be megabytes
    runtime text,                    -- what a device must have; null: anything
    arch text,
    model text,
    labels text[] NOT NULL DEFAULT '{}',
    archs text[],                    -- that base and candidate both have code for
    memory_bytes bigint NOT NULL DEFAULT 0,
    pairs integer NOT NULL DEFAULT 0,
    groups integer NOT NULL DEFAULT 0,
    rounds integer NOT NULL DEFAULT 0, -- that ended, of all groups
    lines bigint NOT NULL DEFAULT 0,   -- of the record so far, the header included
    progress json,                     -- counts of verdicts
    static json,                       -- the record's line of static comparisons
    closing json,                      -- the line before it, of a cancelled gate
    verdict json,                      -- the record's last line; null: not decided
    red boolean,
    infrastructure boolean
) WITH (fillfactor = 70);
CREATE INDEX gate_undecided ON gate (run_id) WHERE verdict IS NULL;

CREATE TABLE gate_pair (
    run_id bigint NOT NULL REFERENCES gate,
    ordinal integer NOT NULL,        -- in the header
    run_case_id bigint NOT NULL UNIQUE REFERENCES run_case,
    case_key bigint NOT NULL REFERENCES case_def,
    kernel_key bigint NOT NULL REFERENCES kernel, -- the candidate's, else the base's
    case_name text NOT NULL,
    role text NOT NULL,
    base json,                       -- {"pack","kernel"}; null: no such arm
    candidate json,
    grp integer NOT NULL,
    d0 float8 NOT NULL,
    d1 float8 NOT NULL,
    s0 float8 NOT NULL,
    tau float8 NOT NULL,
    blocks integer NOT NULL,         -- a round; 0: answers only
    launched boolean NOT NULL,       -- false: identical or refused
    PRIMARY KEY (run_id, ordinal)
);

-- Where a group is measured.
CREATE TABLE gate_group (
    run_id bigint NOT NULL REFERENCES gate,
    grp integer NOT NULL,
    runner text NOT NULL,
    device_id text NOT NULL,
    model text NOT NULL,
    facts json NOT NULL,
    moves json NOT NULL DEFAULT '[]', -- [{"at","from","to","why"}]
    PRIMARY KEY (run_id, grp)
) WITH (fillfactor = 70);

CREATE TABLE gate_round (
    run_id bigint NOT NULL,
    grp integer NOT NULL,
    round integer NOT NULL,
    first_task bigint NOT NULL,      -- its tasks have this id or a later one
    created timestamptz NOT NULL DEFAULT now(),
    seq integer,                     -- order in which rounds ended; null: under way
    line bigint,                     -- in the record
    void text NOT NULL DEFAULT '',
    body json,                       -- the record's line
    PRIMARY KEY (run_id, grp, round),
    FOREIGN KEY (run_id, grp) REFERENCES gate_group
) WITH (fillfactor = 70);
CREATE INDEX gate_round_open ON gate_round (run_id) WHERE seq IS NULL;

-- One row a pair and round, written when the round has ended: what the verdicts rest on,
-- out of the record.
CREATE TABLE gate_block (
    run_id bigint NOT NULL,
    line bigint NOT NULL,            -- in the record
    seq integer NOT NULL,            -- the round's
    grp integer NOT NULL,
    round integer NOT NULL,
    ordinal integer NOT NULL,        -- of the pair
    task_id bigint NOT NULL,
    base_answer text NOT NULL,       -- '' where there is no such arm
    candidate_answer text NOT NULL,
    mask smallint[] NOT NULL,
    rejected boolean[] NOT NULL,
    y float8[] NOT NULL,             -- 4 a block
    body json,                       -- null: the task's result has the record
    PRIMARY KEY (run_id, line),
    UNIQUE (run_id, ordinal, round)
);

CREATE TABLE gate_verdict (
    run_id bigint NOT NULL,
    ordinal integer NOT NULL,
    verdict text NOT NULL,
    reason text NOT NULL,
    blocks integer NOT NULL,
    lost integer NOT NULL,
    rounds integer NOT NULL,
    effect float8,                   -- logs of candidate / base; null: none
    low float8,
    high float8,
    slot_noise float8,
    spread float8,
    PRIMARY KEY (run_id, ordinal),
    FOREIGN KEY (run_id, ordinal) REFERENCES gate_pair
);

-- Noise of a kernel on a case and model, from gates that ended: means of squares over
-- the last gates (n of them, at most 20).
CREATE TABLE gate_noise (
    case_key bigint NOT NULL REFERENCES case_def,
    kernel text NOT NULL,
    model text NOT NULL,
    s0 float8 NOT NULL,
    tau float8,                      -- null: no gate with rounds enough
    n integer NOT NULL,
    tau_n integer NOT NULL,
    run_id bigint NOT NULL,          -- the last gate
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (case_key, kernel, model)
);

-- --- what dashboards read ---

CREATE OR REPLACE VIEW report.run_table AS
SELECT u.run_id, r.task_id, rc.name AS case_name, c.label AS case_label, c.op,
       k.name AS kernel, p.name AS pack, t.repetition,
       r.device_id AS device, r.device_model AS model, r.device_arch AS arch, r.runtime,
       r.answer, r.answer_text, r.time_flag AS time,
       r.median_ns, r.ci_lo_ns, r.ci_hi_ns, r.q1_ns, r.q3_ns, r.min_ns, r.max_ns,
       (r.q3_ns - r.q1_ns) / nullif(r.median_ns, 0) AS spread,
       r.sample_count, r.flops, r.bytes, r.math_type,
       r.flops / nullif(r.median_ns, 0) / 1e3 AS tflop_per_s,
       r.bytes / nullif(r.median_ns, 0) AS gb_per_s,
       r.roofline_ns, 100 * nullif(r.roofline_ns, 0) / nullif(r.median_ns, 0)
           AS roofline_percent,
       r.attempt, r.received
FROM farm.run u
JOIN farm.task t ON t.run_id = u.run_id
JOIN farm.result r ON r.run_day = u.run_day AND r.task_id = t.task_id
JOIN farm.run_case rc ON rc.run_case_id = t.run_case_id
JOIN farm.case_def c ON c.case_key = r.case_key
JOIN farm.kernel k ON k.kernel_key = r.kernel_key
JOIN farm.pack p ON p.pack_key = k.pack_key
WHERE u.kind <> 'gate';

-- Which gates were there, and how did they end?
CREATE VIEW report.gate_table AS
SELECT g.run_id AS gate_id, g.gate, u.name, u.suite, u.state, u.created, u.ended,
       (SELECT min(gg.model) FROM farm.gate_group gg WHERE gg.run_id = g.run_id) AS model,
       g.groups, g.pairs, g.rounds, g.red, g.infrastructure,
       g.packs -> 'base' ->> 'id' AS base_pack,
       g.packs -> 'candidate' ->> 'id' AS candidate_pack,
       g.packs -> 'candidate' -> 'provenance' ->> 'commit' AS candidate_commit,
       g.progress
FROM farm.gate g JOIN farm.run u USING (run_id);

-- What did a gate say of each pair?
CREATE VIEW report.gate_pairs AS
SELECT p.run_id AS gate_id, p.ordinal, rc.name AS pair, p.case_name, c.op, k.name AS kernel,
       p.role, p.grp AS "group", gg.model, gg.runner, gg.device_id AS device,
       p.d0, p.d1, p.s0, p.tau, v.verdict, v.reason, v.blocks, v.lost, v.rounds,
       v.effect, v.low, v.high, v.slot_noise, v.spread
FROM farm.gate_pair p
JOIN farm.run_case rc USING (run_case_id)
JOIN farm.case_def c ON c.case_key = p.case_key
JOIN farm.kernel k ON k.kernel_key = p.kernel_key
LEFT JOIN farm.gate_group gg ON gg.run_id = p.run_id AND gg.grp = p.grp
LEFT JOIN farm.gate_verdict v ON v.run_id = p.run_id AND v.ordinal = p.ordinal;

-- How far is each round, and where did it run?
CREATE VIEW report.gate_rounds AS
SELECT r.run_id AS gate_id, r.grp AS "group", r.round, r.created, r.seq, r.void,
       gg.runner, gg.device_id AS device, gg.model,
       (SELECT count(*) FROM farm.gate_block b WHERE b.run_id = r.run_id
         AND b.seq = r.seq) AS pairs
FROM farm.gate_round r
JOIN farm.gate_group gg ON gg.run_id = r.run_id AND gg.grp = r.grp;

-- How noisy is a kernel on a case and model?
CREATE VIEW report.gate_noise AS
SELECT c.case_id, c.label AS case_label, c.op, n.kernel, n.model, n.s0, n.tau, n.n AS gates,
       n.updated
FROM farm.gate_noise n JOIN farm.case_def c USING (case_key);

-- How did a kernel's time move, as a ratio to a base that stayed the same? What a device
-- without good sentinels said of times is none, nor is the time of a wrong answer.
CREATE VIEW report.gate_history AS
SELECT p.run_id AS gate_id, g.gate, u.name, u.suite, u.ended AS at,
       p.case_name, c.case_id, c.op, k.name AS kernel, gg.model,
       g.packs -> 'base' ->> 'id' AS base_pack,
       g.packs -> 'candidate' ->> 'id' AS candidate_pack,
       g.packs -> 'candidate' -> 'provenance' ->> 'commit' AS candidate_commit,
       v.verdict, v.reason, v.effect, v.low, v.high, v.blocks
FROM farm.gate_pair p
JOIN farm.gate g ON g.run_id = p.run_id
JOIN farm.run u ON u.run_id = p.run_id
JOIN farm.case_def c ON c.case_key = p.case_key
JOIN farm.kernel k ON k.kernel_key = p.kernel_key
JOIN farm.gate_group gg ON gg.run_id = p.run_id AND gg.grp = p.grp
JOIN farm.gate_verdict v ON v.run_id = p.run_id AND v.ordinal = p.ordinal
WHERE p.role = 'case' AND v.effect IS NOT NULL
  AND v.reason NOT IN ('wrong', 'base-wrong', 'sentinel');

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'wavefarm_ro') THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO wavefarm_ro;
    END IF;
END $$;
