-- Devices that measure no new gates for a while (docs/gate.md, Sentinels): one whose
-- sentinels failed, or one that somebody doubts. Ordinary runs go on. A row is never
-- deleted: what was said of a device, by whom and why it ended stays.

CREATE TABLE quarantine (
    quarantine_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    runner text NOT NULL,            -- names, not keys: they outlive a session
    device_id text NOT NULL,
    scope text NOT NULL DEFAULT 'gates' CHECK (scope = 'gates'),
    reason text NOT NULL,
    author text NOT NULL,            -- 'sentinel', or the name of a token
    run_id bigint REFERENCES gate,   -- the gate whose sentinel failed; null: by hand
    since timestamptz NOT NULL DEFAULT now(),
    until timestamptz NOT NULL,      -- does not count from then on
    lifted timestamptz,              -- when it ended; null: not yet, or nobody noted it
    lifted_by text,                  -- name of a token; null: its time was over
    lifted_why text,
    CHECK ((lifted_by IS NULL) = (lifted_why IS NULL)),
    CHECK (lifted_by IS NULL OR lifted IS NOT NULL)
);
CREATE UNIQUE INDEX quarantine_open ON quarantine (runner, device_id, scope)
    WHERE lifted IS NULL;

-- Which devices measure no gates, and which did not, why, and how did it end?
CREATE VIEW report.quarantine AS
SELECT quarantine_id, runner, device_id AS device, scope, reason, author,
       run_id AS gate_id, since, until,
       CASE WHEN lifted_by IS NOT NULL THEN 'lifted'
            WHEN until <= now() THEN 'expired' ELSE 'open' END AS state,
       CASE WHEN lifted_by IS NOT NULL THEN lifted END AS lifted, lifted_by, lifted_why
FROM farm.quarantine;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'wavefarm_ro') THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO wavefarm_ro;
    END IF;
END $$;
