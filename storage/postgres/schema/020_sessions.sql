-- Players who are signed in, see storage.Sessions. All but the ends of accounts is gone
-- with the nodes, so these tables need no log: after a crash of the server they are
-- empty, and the nodes fill them again. The sequence stays, so that no number is
-- reused.

CREATE SEQUENCE session_fences;

CREATE UNLOGGED TABLE session_runs (
	run   bigint  PRIMARY KEY,
	node  text    COLLATE "C" NOT NULL,
	beats bigint  NOT NULL DEFAULT 0,
	ended boolean NOT NULL DEFAULT false
);
CREATE INDEX session_runs_of ON session_runs (node);

CREATE UNLOGGED TABLE live_sessions (
	run       bigint   NOT NULL,
	id        bigint   NOT NULL,
	fence     bigint   NOT NULL,
	profile   int      NOT NULL,
	user_id   int      NOT NULL,
	displaces smallint NOT NULL,
	displaced boolean  NOT NULL DEFAULT false,
	CONSTRAINT live_sessions_pkey PRIMARY KEY (run, id)
);
CREATE INDEX live_sessions_user ON live_sessions (user_id);
CREATE INDEX live_sessions_displaced ON live_sessions (run) WHERE displaced;

CREATE TABLE account_ends (
	fence   bigint   PRIMARY KEY,
	user_id int      NOT NULL,
	profile int      NOT NULL,
	reason  smallint NOT NULL
);
