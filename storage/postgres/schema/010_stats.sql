-- Blocks and scores of players.

-- The row of a profile is locked by every change of its blocks, and by every
-- change of the number of its scores: the limits of a profile are exact.
CREATE TABLE stat_sizes (
	profile bigint PRIMARY KEY REFERENCES profiles (id),
	blocks  bigint NOT NULL DEFAULT 0 CHECK (blocks >= 0),
	bytes   bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
	scores  bigint NOT NULL DEFAULT 0 CHECK (scores >= 0)
);

-- The sums of stat_sizes, in parts so that profiles do not wait for each other.
-- The part of a profile is its id modulo the number of parts.
CREATE TABLE stat_totals (
	part   integer PRIMARY KEY,
	blocks bigint NOT NULL DEFAULT 0,
	bytes  bigint NOT NULL DEFAULT 0
);
INSERT INTO stat_totals (part) SELECT generate_series(0, 63);

CREATE TABLE stat_blocks (
	profile  bigint NOT NULL REFERENCES stat_sizes (profile),
	game     text COLLATE "C" NOT NULL,
	index    integer NOT NULL,
	kind     smallint NOT NULL,
	modified bigint NOT NULL, -- seconds since 1970
	data     bytea NOT NULL,
	PRIMARY KEY (profile, game, index, kind)
);
-- Games send data that they have packed already, or a few bytes.
ALTER TABLE stat_blocks ALTER COLUMN data SET STORAGE EXTERNAL;

-- down is the score with its sign changed: the highest score comes first.
CREATE TABLE scores (
	profile bigint NOT NULL REFERENCES stat_sizes (profile),
	game    text COLLATE "C" NOT NULL,
	board   text COLLATE "C" NOT NULL,
	down    double precision NOT NULL,
	updated text COLLATE "C" NOT NULL, -- RFC 3339, to the nanosecond
	PRIMARY KEY (profile, game, board)
);
CREATE UNIQUE INDEX scores_ranking ON scores (game, board, down, profile);

-- Parts of a ranking: n scores from the place of the first on, up to the next
-- part. The first part of a board begins before all places.
CREATE TABLE score_chunks (
	game    text COLLATE "C" NOT NULL,
	board   text COLLATE "C" NOT NULL,
	down    double precision NOT NULL,
	profile bigint NOT NULL,
	n       bigint NOT NULL CHECK (n >= 0),
	PRIMARY KEY (game, board, down, profile)
);
