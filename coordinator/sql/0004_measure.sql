-- A suite may ask for other measure options for one case than the run has.
ALTER TABLE run_case ADD COLUMN measure json; -- null: the run's

-- The other figures that come with each sample. Null in rows from before: there the
-- result's body has them.
ALTER TABLE sample ADD COLUMN temperature_c float8[], ADD COLUMN throttle float8[];
