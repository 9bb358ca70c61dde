-- Packs that are published by themselves: their archives, and the records of where they
-- come from. The records are beside the pack: equal code of two commits is one pack with
-- two records.

CREATE TABLE pack_archive (
    pack_key bigint NOT NULL REFERENCES pack,
    archive text NOT NULL REFERENCES blob,
    token_id bigint REFERENCES token,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pack_key, archive)
);

CREATE TABLE pack_provenance (
    pack_key bigint NOT NULL REFERENCES pack,
    digest text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'), -- without its time
    record json NOT NULL,
    token_id bigint REFERENCES token,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pack_key, digest)
);

CREATE INDEX run_pack_by_pack ON run_pack (pack_key);
