-- What dashboards and Grafana read. Tables may change; these views keep their columns.
-- wavefarm_ro is the role for them: it exists where the database's owner made it.

CREATE SCHEMA IF NOT EXISTS report;

CREATE VIEW report.run_table AS
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
JOIN farm.pack p ON p.pack_key = k.pack_key;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'wavefarm_ro') THEN
        GRANT USAGE ON SCHEMA report TO wavefarm_ro;
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO wavefarm_ro;
        ALTER DEFAULT PRIVILEGES IN SCHEMA report GRANT SELECT ON TABLES TO wavefarm_ro;
    END IF;
END $$;
