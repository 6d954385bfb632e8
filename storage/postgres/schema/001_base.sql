-- Settings of the database itself, and the sequence of all revisions.

CREATE TABLE settings (
	name  text COLLATE "C" PRIMARY KEY,
	value text NOT NULL
);

CREATE SEQUENCE revs AS bigint;

-- The audit log. Entries of players are a part with a limit of its own. Both
-- parts share one sequence of numbers without gaps, so it is not a SEQUENCE.
CREATE TABLE audit (
	player boolean NOT NULL,
	seq    bigint  NOT NULL,
	doc    jsonb   NOT NULL,
	PRIMARY KEY (player, seq)
);

CREATE TABLE audit_state (
	one       boolean PRIMARY KEY DEFAULT true CHECK (one),
	last      bigint  NOT NULL DEFAULT 0,   -- number of the newest entry
	operators bigint  NOT NULL DEFAULT 0,   -- entries in each part
	players   bigint  NOT NULL DEFAULT 0
);

INSERT INTO audit_state DEFAULT VALUES;
