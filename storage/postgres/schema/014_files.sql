-- Files of players: descriptions and contents.

CREATE TABLE file_usage (
	owner bigint PRIMARY KEY REFERENCES profiles (id),
	files bigint NOT NULL CHECK (files >= 0),
	bytes bigint NOT NULL CHECK (bytes >= 0)
);

-- The sum of file_usage, and the last id.
CREATE TABLE file_totals (
	one     boolean PRIMARY KEY DEFAULT true CHECK (one),
	last_id bigint NOT NULL DEFAULT 0,
	files   bigint NOT NULL DEFAULT 0 CHECK (files >= 0),
	bytes   bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);
INSERT INTO file_totals DEFAULT VALUES;

CREATE TABLE files (
	id        bigint PRIMARY KEY,
	game      text COLLATE "C" NOT NULL,
	owner     bigint NOT NULL REFERENCES file_usage (owner),
	name      text COLLATE "C" NOT NULL,
	size      bigint NOT NULL,
	hash      bytea NOT NULL,
	created   text COLLATE "C" NOT NULL, -- RFC 3339, to the nanosecond
	downloads bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX files_owner ON files (owner, id);
CREATE INDEX files_hash ON files (hash);

-- A content is complete when its row is there: it is stored with its parts.
CREATE TABLE file_contents (
	hash bytea PRIMARY KEY,
	size bigint NOT NULL
);
CREATE TABLE file_parts (
	hash bytea NOT NULL REFERENCES file_contents (hash) ON DELETE CASCADE,
	part integer NOT NULL, -- from 0
	data bytea NOT NULL,
	PRIMARY KEY (hash, part)
);
ALTER TABLE file_parts ALTER COLUMN data SET STORAGE EXTERNAL;
