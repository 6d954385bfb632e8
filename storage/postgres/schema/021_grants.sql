-- What lets clients in without a password, see storage.Grants. It has no log: after a
-- crash of the server players sign in with their passwords.

CREATE UNLOGGED TABLE grants (
	kind      smallint NOT NULL,
	digest    bytea    NOT NULL,
	seq       bigint   GENERATED ALWAYS AS IDENTITY,
	profile   int      NOT NULL,
	challenge text     NOT NULL,
	expires   bigint   NOT NULL,
	once      boolean  NOT NULL,
	CONSTRAINT grants_pkey PRIMARY KEY (kind, digest)
);
CREATE INDEX grants_of ON grants (profile, kind, seq);
CREATE INDEX grants_expire ON grants (expires);
